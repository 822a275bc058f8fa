// Operators that cut tensors apart, join and frame them.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "graph/base/try.h"
#include "graph/ops/data_propagation.h"
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"
#include "graph/ops/static_batch.h"

namespace plimsoll::ops {
namespace {

// Output 0 is the inputs' contents one behind the other; for vectors.
void follow_joined(InferContext& c) {
  Fractions all;
  for (size_t i = 0; i < c.inputs(); ++i) {
    if (!c.has(i)) continue;
    const auto part = known(c, i);
    if (!part || all.size() + part->size() > kMostFollowed) return;
    all.insert(all.end(), part->begin(), part->end());
  }
  set_known(c, 0, std::move(all));
}

Result<void> concat(InferContext& c) {
  const int64_t given = c.attributes().integer("axis", 1);  // no default since opset 4
  const auto axis = TRY(c.axis(given, c.rank(0)));
  Shape shape = c.shape(0);
  for (size_t i = 1; i < c.inputs(); ++i) {
    if (!c.has(i)) continue;
    if (auto checked = require_rank(c, i, shape.size(), shape.size()); !checked) return checked;
    const auto [sum, part] = rebatch_operands(c, shape, c.shape(i));
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d == axis) {
        shape[d] += c.shape(i)[d];
        continue;
      }
      shape[d] = sum[d];
      auto same = require_equal(c, sum[d], part[d], "extents of the other axes");
      if (!same) return same;
    }
  }
  c.set(0, c.dtype(0), std::move(shape));
  if (c.rank(0) == 1) follow_joined(c);
  return {};
}

// The lengths given by attribute or input, or equal parts: the last may be smaller.
Result<std::vector<Dim>> split_lengths(InferContext& c, const Dim& whole) {
  if (c.has(1)) {
    if (!c.dims(1)) return unknown_contents(c, 1, "the lengths of the parts");
    return *c.dims(1);
  }
  if (c.attributes().has("split")) {
    const auto split = c.attributes().integers("split");
    return std::vector<Dim>(split.begin(), split.end());
  }
  const auto parts = static_cast<int64_t>(c.outputs());
  if (c.attributes().integer("num_outputs", parts) != parts || parts == 0) {
    return c.fail("E246", fmt::format("'num_outputs' does not match {} outputs", parts));
  }
  const Dim length = ceil_div(whole, parts);
  std::vector<Dim> lengths(c.outputs(), length);
  lengths.back() = whole - length * Dim(parts - 1);
  return lengths;
}

Result<void> split(InferContext& c) {
  const auto axis = TRY(c.axis(c.attributes().integer("axis", 0), c.rank(0)));
  const Dim whole = c.shape(0)[axis];
  const auto lengths = TRY(split_lengths(c, whole));
  if (lengths.size() != c.outputs()) {
    return c.fail("E246", fmt::format("{} parts for {} outputs", lengths.size(), c.outputs()));
  }
  Dim total;
  for (const Dim& length : lengths) total += length;
  if (auto same = require_equal(c, total, whole, "sum of the parts and the whole"); !same) {
    return same;
  }
  size_t start = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    Shape shape = c.shape(0);
    shape[axis] = lengths[i];
    c.set(i, c.dtype(0), std::move(shape));
    if (c.rank(0) != 1) continue;
    follow_moved(c, i, 0, [&](const Index& index) { return start + index[0]; });
    const auto length = lengths[i].constant();
    start += length ? static_cast<size_t>(*length) : kMostFollowed;
  }
  return {};
}

// One axis of a Slice.
struct Cut {
  Dim start, length;
  int64_t step = 1;
};

// A position counted from either end, limited to [least, most] of the axis.
Dim placed(InferContext& c, const Dim& position, const Dim& extent, const Dim& least,
           const Dim& most) {
  // Ends "as far as it goes" are written as the largest numbers of 32 or 64 bits.
  constexpr int64_t kFar = std::numeric_limits<int32_t>::max();
  if (const auto value = position.constant()) {
    if (*value >= kFar) return most;
    if (*value <= -kFar) return least;
  }
  const Dim from_start = c.decider().at_most(0, position) ? position : position + extent;
  if (c.decider().at_most(from_start, least)) return least;
  return c.decider().at_most(most, from_start) ? most : from_start;
}

Cut cut(InferContext& c, const Dim& extent, const Dim& start, const Dim& end, int64_t step) {
  const Dim least = step > 0 ? 0 : -1;
  const Dim most = step > 0 ? extent : extent - 1;
  const Dim first = placed(c, start, extent, 0, most);
  const Dim last = placed(c, end, extent, least, most);
  const Dim span = step > 0 ? last - first : first - last;
  const Dim pace = step > 0 ? Dim(step) : Dim(0) - Dim(step);
  if (extent == Dim(0) || !c.decider().at_most(1, span)) return {first, 0, step};
  return {first, ceil_div(span, pace), step};
}

struct SliceArguments {
  std::optional<std::vector<Dim>> starts, ends;  // nothing where computed from data
  std::vector<int64_t> axes, steps;
};

// Numbers in a list of this shape; a single number stands for a list of one. 0 where unknown.
size_t listed(const Shape& shape) {
  if (shape.empty()) return 1;
  const auto extents = small_shape(shape);
  return extents ? extents->front() : 0;
}

Result<SliceArguments> slice_arguments(InferContext& c) {
  SliceArguments arguments;
  const auto contents = [&](size_t input, std::string_view name) {
    std::optional<std::vector<Dim>> values;
    if (c.has(input)) {
      if (c.dims(input)) values = *c.dims(input);
    } else {
      const auto list = c.attributes().integers(name);
      values.emplace(list.begin(), list.end());
    }
    return values;
  };
  arguments.starts = contents(1, "starts");
  arguments.ends = contents(2, "ends");
  auto axes = TRY(axes_argument(c, 3));
  const size_t count = axes               ? axes->size()
                       : arguments.starts ? arguments.starts->size()
                       : c.has(1)         ? listed(c.shape(1))
                                          : 0;
  if (count > kAnyRank) return c.fail("E248", fmt::format("{} axes", count));
  for (size_t i = 0; !axes && i < count; ++i) arguments.axes.push_back(static_cast<int64_t>(i));
  if (axes) arguments.axes = *axes;
  arguments.steps.assign(count, 1);
  if (c.has(4)) {
    const auto steps = c.integers(4);
    if (!steps) return unknown_contents(c, 4, "the steps");
    arguments.steps = *steps;
  }
  const bool starts_fit = !arguments.starts || arguments.starts->size() == count;
  const bool ends_fit = !arguments.ends || arguments.ends->size() == count;
  if (!starts_fit || !ends_fit || arguments.steps.size() != count) {
    return c.fail("E246", "starts, ends, axes and steps differ in length");
  }
  return arguments;
}

Result<void> slice(InferContext& c) {
  for (const size_t i : {1, 2, 3, 4}) {
    if (!c.has(i)) continue;
    // One number stands for a list of one: that is what a position in a loop is.
    if (auto checked = require_rank(c, i, 0, 1); !checked) return checked;
  }
  const auto arguments = TRY(slice_arguments(c));
  const auto axes = TRY(normalized_axes(c, arguments.axes, c.rank(0)));
  Shape shape = c.shape(0);
  std::vector<Cut> cuts(shape.size());
  bool known_cuts = true;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t step = arguments.steps[i];
    const size_t axis = axes[i];
    if (step == 0) return c.fail("E246", fmt::format("the step of axis {} is 0", axis));
    if (!arguments.starts || !arguments.ends) {
      known_cuts = false;
      continue;
    }
    cuts[axis] = cut(c, shape[axis], (*arguments.starts)[i], (*arguments.ends)[i], step);
    shape[axis] = cuts[axis].length;
  }
  c.set(0, c.dtype(0), std::move(shape));
  if (!known_cuts) {
    c.warn("W211", "a slice's ends depend on data; its length is bounded by the whole axis");
    return {};
  }
  const auto from = small_shape(c.shape(0));
  if (!from) return {};
  follow_moved(c, 0, 0, [&](const Index& index) {
    Index source(from->size(), 0);
    for (size_t i = 0; i < source.size(); ++i) {
      const int64_t start = cuts[i].start.constant().value_or(0);
      source[i] = static_cast<size_t>(start + static_cast<int64_t>(index[i]) * cuts[i].step);
    }
    return flat_index(source, *from);
  });
  return {};
}

// Widths before each axis, then behind each; an input since opset 11, with axes since 18.
Result<void> pad(InferContext& c) {
  std::vector<Dim> pads;
  if (c.has(1)) {
    if (!c.dims(1)) return unknown_contents(c, 1, "the padding");
    pads = *c.dims(1);
  } else {
    const char* name = c.attributes().has("paddings") ? "paddings" : "pads";
    for (const int64_t width : c.attributes().integers(name)) pads.emplace_back(width);
  }
  std::vector<size_t> axes;
  if (c.has(3)) {
    const auto given = c.integers(3);
    if (!given) return unknown_contents(c, 3, "the axes");
    auto plain = TRY(normalized_axes(c, *given, c.rank(0)));
    axes = std::move(plain);
  } else {
    for (size_t i = 0; i < c.rank(0); ++i) axes.push_back(i);
  }
  if (pads.size() != 2 * axes.size()) {
    return c.fail("E244", fmt::format("{} widths for {} axes", pads.size(), axes.size()));
  }
  Shape shape = c.shape(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim& extent = shape[axes[i]];
    extent += pads[i] + pads[axes.size() + i];
    if (!c.decider().at_most(0, extent)) {
      return c.fail("E244",
                    fmt::format("padding leaves {} elements on axis {}", extent.text(), axes[i]));
    }
  }
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

constexpr OpRow kSlicingRows[] = {
    {.name = "Concat",
     .traits = OpRow::kConcatenates,
     .inputs = kEveryInput,
     .attributes = "axis",
     .shape = concat,
     .lower = lower::concat,
     .example = "f32[B,8,7,7] f32[B,4,7,7] {axis=1} -> f32[B,12,7,7] | flop 0 | grads in0 in1"},
    {.name = "Pad",
     .traits = OpRow::kReframes,
     .attributes = "mode paddings pads value",
     .shape = pad,
     .lower = lower::pad,
     .host_from = 1,
     .example = "f32[B,8,7,7] i64[8]=[0,0,1,2,0,0,1,2] -> f32[B,8,9,11] | flop 0 | grads in0"},
    {.name = "Slice",
     .traits = OpRow::kSharesStorage | OpRow::kSlices,
     .attributes = "axes ends starts",
     .shape = slice,
     .lower = lower::slice,
     .host_from = 1,
     .example = "f32[B,8,7,7] i64[2]=[1,-1] i64[2]=[9223372036854775807,0] i64[2]=[1,3] "
                "i64[2]=[1,-2] -> f32[B,7,7,3] | flop 0 | grads in0"},
    {.name = "Split",
     .traits = OpRow::kSharesStorage | OpRow::kSlices,
     .attributes = "axis num_outputs split",
     .shape = split,
     .lower = lower::split,
     .host_from = 1,
     .example =
         "f32[B,10] {axis=1, num_outputs=3} -> f32[B,4] f32[B,4] f32[B,2] | flop 0 | grads in0"},
};

}  // namespace

std::span<const OpRow> slicing_rows() { return kSlicingRows; }

}  // namespace plimsoll::ops
