// Operators whose output is made from extents, numbers or chance rather than from elements.
#include <fmt/format.h>

#include <algorithm>

#include "graph/base/try.h"
#include "graph/ops/data_propagation.h"
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"
#include "graph/ops/static_batch.h"

namespace plimsoll::ops {
namespace {

// The extents themselves, from `start` to `end` since opset 15.
Result<void> shape_of(InferContext& c) {
  const auto rank = static_cast<int64_t>(c.rank(0));
  const auto placed = [&](std::string_view name, int64_t otherwise) {
    const int64_t at = c.attributes().integer(name, otherwise);
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = placed("start", 0);
  const int64_t end = std::max(placed("end", rank), start);
  std::vector<Dim> extents(c.shape(0).begin() + start, c.shape(0).begin() + end);
  c.set(0, DType::kInt64, {static_cast<int64_t>(extents.size())});
  c.set_dims(0, std::move(extents));
  return {};
}

Result<void> size_of(InferContext& c) {
  c.set(0, DType::kInt64, {});
  c.set_dims(0, {elements(c.shape(0))});
  return {};
}

// Numbers as attributes. Tensors as attributes are made parameters by the importer.
Result<void> constant(InferContext& c) {
  const Attributes& attributes = c.attributes();
  if (const auto* integer = attributes.get<int64_t>("value_int")) {
    c.set(0, DType::kInt64, {});
    c.set_dims(0, {*integer});
  } else if (const auto* integers = attributes.get<std::vector<int64_t>>("value_ints")) {
    c.set(0, DType::kInt64, {static_cast<int64_t>(integers->size())});
    c.set_dims(0, {integers->begin(), integers->end()});
  } else if (const auto* real = attributes.get<double>("value_float")) {
    c.set(0, DType::kFloat32, {});
    c.set_reals(0, {*real});
  } else if (const auto* reals = attributes.get<std::vector<double>>("value_floats")) {
    c.set(0, DType::kFloat32, {static_cast<int64_t>(reals->size())});
    c.set_reals(0, *reals);
  } else {
    return c.fail("E247", "a constant without a number as its value");
  }
  return {};
}

Result<void> constant_of_shape(InferContext& c) {
  if (!c.dims(0) || c.dims(0)->size() > kAnyRank) {
    return unknown_contents(c, 0, "the extents of the result");
  }
  const auto dtype = TRY(dtype_attribute(c, "value_dtype", DType::kFloat32));
  std::vector<Dim> extents = *c.dims(0);
  if (!is_of_shape(c.graph(), c.node().inputs[0])) rebatch_leading(c, extents);
  c.set(0, dtype, extents);
  const auto value = as_fraction(number_attribute(c.attributes(), "value").value_or(0));
  const auto small = small_shape(extents);
  if (!value || !small) return {};
  size_t count = 1;
  for (const size_t extent : *small) count *= extent;
  set_known(c, 0, Fractions(count, *value));
  return {};
}

Result<void> range(InferContext& c) {
  Fractions bounds;
  for (size_t i = 0; i < 3; ++i) {
    const auto value = known(c, i);
    if (!value || value->size() != 1) return unknown_contents(c, i, "the bounds of a range");
    bounds.push_back(value->front());
  }
  const bool falls = bounds[2].over.constant().value_or(1) < 0;
  const auto distance =
      falls ? fold_sub(c, bounds[0], bounds[1], false) : fold_sub(c, bounds[1], bounds[0], false);
  const Fraction pace{falls ? Dim(0) - bounds[2].over : bounds[2].over, bounds[2].under};
  if (!distance || !c.decider().at_most(1, pace.over)) {
    return c.fail("E246", fmt::format("a range of step {}", bounds[2].over.text()));
  }
  Dim count = ceil_div(distance->over * pace.under, distance->under * pace.over);
  if (!c.decider().at_most(0, count)) count = 0;
  c.set(0, c.dtype(0), {count});
  const auto small = small_shape({count});
  Fractions values;
  for (size_t i = 0; small && i < small->front(); ++i) {
    const Fraction steps{bounds[2].over * Dim(static_cast<int64_t>(i)), bounds[2].under};
    const auto value = fold_add(c, bounds[0], steps, false);
    if (!value) return {};
    values.push_back(*value);
  }
  if (small) set_known(c, 0, std::move(values));
  return {};
}

// Shaped like the input, typed by the attribute, else like the input.
Result<void> typed_like(InferContext& c) {
  const auto dtype = TRY(dtype_attribute(c, "dtype", c.dtype(0)));
  c.set(0, dtype, c.shape(0));
  return {};
}

Result<void> eye_like(InferContext& c) {
  if (auto checked = require_rank(c, 0, 2, 2); !checked) return checked;
  return typed_like(c);
}

Result<void> random(InferContext& c) {
  if (!c.attributes().get<std::vector<int64_t>>("shape")) {
    return c.fail("E247", "attribute 'shape' is missing or not a list of whole numbers");
  }
  const auto dtype = TRY(dtype_attribute(c, "dtype", DType::kFloat32));
  const auto extents = c.attributes().integers("shape");
  std::vector<Dim> shape(extents.begin(), extents.end());
  rebatch_leading(c, shape);
  c.set(0, dtype, std::move(shape));
  return {};
}

Result<void> multinomial(InferContext& c) {
  if (auto checked = require_rank(c, 0, 2, 2); !checked) return checked;
  const auto dtype = TRY(dtype_attribute(c, "dtype", DType::kInt32));
  c.set(0, dtype, {c.shape(0)[0], c.attributes().integer("sample_size", 1)});
  return {};
}

constexpr OpRow kCreateRows[] = {
    {.name = "Bernoulli",
     .traits = OpRow::kRandom,
     .since = 15,
     .attributes = "dtype seed",
     .shape = typed_like,
     .lower = lower::no_gradient,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B"},
    {.name = "Constant",
     .inputs = 0,
     .attributes = "sparse_value value value_float value_floats value_int value_ints value_string "
                   "value_strings",
     .shape = constant,
     .lower = lower::create,
     .host_from = 0,
     .example = "{value_ints=[1,2,3]} -> i64[3] | flop 0"},
    {.name = "ConstantOfShape",
     .since = 9,
     .attributes = "value",
     .shape = constant_of_shape,
     .lower = lower::create,
     .host_from = 0,
     .example = "i64[2]=[3,4] {value=0, value_dtype=7} -> i64[3,4] | flop 0"},
    {.name = "EyeLike",
     .since = 9,
     .attributes = "dtype k",
     .shape = eye_like,
     .lower = lower::create,
     .host_from = 0,
     .example = "i32[4,B] {dtype=1} -> f32[4,B] | flop 0"},
    {.name = "Multinomial",
     .traits = OpRow::kRandom,
     .since = 7,
     .attributes = "dtype sample_size seed",
     .shape = multinomial,
     .lower = lower::no_gradient,
     .example = "f32[B,10] {sample_size=3} -> i32[B,3] | flop 3*B"},
    {.name = "RandomNormal",
     .traits = OpRow::kRandom,
     .inputs = 0,
     .attributes = "dtype mean scale seed shape",
     .shape = random,
     .lower = lower::random,
     .host_from = 0,
     .example = "{shape=[3,4]} -> f32[3,4] | flop 0"},
    {.name = "RandomNormalLike",
     .traits = OpRow::kRandom,
     .attributes = "dtype mean scale seed",
     .shape = typed_like,
     .lower = lower::random,
     .host_from = 0,
     .example = "f32[B,4] -> f32[B,4] | flop 0"},
    {.name = "RandomUniform",
     .traits = OpRow::kRandom,
     .inputs = 0,
     .attributes = "dtype high low seed shape",
     .shape = random,
     .lower = lower::random,
     .host_from = 0,
     .example = "{shape=[3,4], dtype=11} -> f64[3,4] | flop 0"},
    {.name = "RandomUniformLike",
     .traits = OpRow::kRandom,
     .attributes = "dtype high low seed",
     .shape = typed_like,
     .lower = lower::random,
     .host_from = 0,
     .example = "f32[B,4] -> f32[B,4] | flop 0"},
    {.name = "Range",
     .since = 11,
     .inputs = 3,
     .attributes = "stash_type",
     .shape = range,
     .lower = lower::create,
     .host_from = 0,
     .example = "i64[]=[10] i64[]=[1] i64[]=[-2] -> i64[5] | flop 0"},
    {.name = "Shape",
     .traits = OpRow::kShapeOf,
     .attributes = "end start",
     .shape = shape_of,
     .lower = lower::create,
     .host_from = 0,
     .example = "f32[B,3,H,W] {start=1} -> i64[3] | flop 0"},
    {.name = "Size",
     .traits = OpRow::kShapeOf,
     .shape = size_of,
     .lower = lower::create,
     .host_from = 0,
     .example = "f32[B,3,H,W] -> i64[] | flop 0"},
};

}  // namespace

std::span<const OpRow> create_rows() { return kCreateRows; }

}  // namespace plimsoll::ops
