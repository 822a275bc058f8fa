// Operators that pick or place elements by index, and those whose extents depend on data.
#include <fmt/format.h>

#include <algorithm>

#include "graph/base/try.h"
#include "graph/ops/data_propagation.h"
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/routing.h"
#include "graph/ops/rules.h"

namespace plimsoll::ops {
namespace {

void warn_bound(InferContext& c, std::string_view what) {
  c.warn("W211", fmt::format("{} depends on data; its upper bound is used", what));
}

// Contents of a vector picked by known indices.
void follow_gather(InferContext& c) {
  const auto indices = known(c, 1);
  if (!indices || c.rank(0) != 1) return;
  const auto extent = c.shape(0)[0].constant();
  if (!extent) return;
  const size_t rank = c.rank(1);
  const auto shape = small_shape(c.shape(1));
  follow_moved(c, 0, 0, [&](const Index& index) {
    const Index at(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(rank));
    const auto picked = (*indices)[flat_index(at, *shape)].over.constant();
    if (!picked) return kMostFollowed;
    return static_cast<size_t>(*picked < 0 ? *picked + *extent : *picked);
  });
}

Result<void> gather(InferContext& c) {
  const auto axis = TRY(c.axis(c.attributes().integer("axis", 0), c.rank(0)));
  Shape shape = c.shape(0);
  const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  const Shape& indices = c.shape(1);
  shape.insert(shape.erase(at), indices.begin(), indices.end());
  c.set(0, c.dtype(0), std::move(shape));
  follow_gather(c);
  return {};
}

// Shaped like the indices, which have the data's rank.
Result<void> gather_elements(InferContext& c) {
  TRY(c.axis(c.attributes().integer("axis", 0), c.rank(0)));
  if (auto checked = require_rank(c, 1, c.rank(0), c.rank(0)); !checked) return checked;
  c.set(0, c.dtype(0), c.shape(1));
  return {};
}

// indices [batch..., i..., d] -> [batch..., i..., data's extents behind the d that are indexed]
Result<void> gather_nd(InferContext& c) {
  if (auto checked = require_rank(c, 0, 1); !checked) return checked;
  if (auto checked = require_rank(c, 1, 1); !checked) return checked;
  const int64_t batch = c.attributes().integer("batch_dims", 0);
  const auto depth = c.shape(1).back().constant();
  const auto rank = static_cast<int64_t>(c.rank(0));
  if (batch < 0 || batch >= static_cast<int64_t>(c.rank(1)) || !depth || *depth > rank ||
      batch > rank - *depth) {
    return c.fail("E246", fmt::format("indices {} with {} batch dimensions do not index {}",
                                      text(c.shape(1)), batch, text(c.shape(0))));
  }
  Shape shape(c.shape(1).begin(), c.shape(1).end() - 1);
  const Shape& data = c.shape(0);
  shape.insert(shape.end(), data.begin() + static_cast<std::ptrdiff_t>(batch + *depth), data.end());
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

// A list of extents of which some are replaced, as the exporter's index_fill writes it.
void follow_scatter(InferContext& c) {
  const auto indices = known(c, 1);
  const auto updates = known(c, 2);
  auto contents = known(c, 0);
  if (!contents || !indices || !updates || c.rank(0) != 1 || indices->size() != updates->size())
    return;
  for (size_t i = 0; i < indices->size(); ++i) {
    const auto place = (*indices)[i].over.constant();
    const auto at = place ? normalize_axis(*place, contents->size()) : std::nullopt;
    if (!at) return;
    (*contents)[*at] = (*updates)[i];
  }
  set_known(c, 0, std::move(*contents));
}

Result<void> scatter_elements(InferContext& c) {
  TRY(c.axis(c.attributes().integer("axis", 0), c.rank(0)));
  if (auto checked = require_rank(c, 1, c.rank(0), c.rank(0)); !checked) return checked;
  if (auto shaped = like_first(c); !shaped) return shaped;
  if (c.attributes().string("reduction", "none") == "none") follow_scatter(c);
  return {};
}

Result<void> scatter_nd(InferContext& c) {
  if (auto checked = require_rank(c, 0, 1); !checked) return checked;
  if (auto checked = require_rank(c, 1, 1); !checked) return checked;
  return like_first(c);
}

// The contents, where the axis is the last: exporters put one axis' repeats among ones with it.
void follow_one_hot(InferContext& c, int64_t classes) {
  const auto places = known(c, 0);
  const auto values = known(c, 2);
  if (!places || !values || values->size() != 2) return;
  if (classes < 1 ||
      static_cast<size_t>(classes) > kMostFollowed / std::max<size_t>(places->size(), 1))
    return;
  Fractions contents;
  for (const Fraction& place : *places) {
    const auto at = place.over.constant();
    if (!at) return;
    for (int64_t i = 0; i < classes; ++i)
      contents.push_back((*values)[i == (*at < 0 ? *at + classes : *at) ? 1 : 0]);
  }
  set_known(c, 0, std::move(contents));
}

Result<void> one_hot(InferContext& c) {
  const auto depth = known(c, 1);
  if (!depth || depth->size() != 1) return unknown_contents(c, 1, "the number of classes");
  const auto axis = TRY(c.axis(c.attributes().integer("axis", -1), c.rank(0) + 1));
  Shape shape = c.shape(0);
  const Dim classes = floor_div(depth->front().over, depth->front().under);
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), classes);
  c.set(0, c.dtype(2), std::move(shape));
  if (axis == c.rank(0)) follow_one_hot(c, classes.constant().value_or(0));
  return {};
}

// Whether a tensor is a ConstantOfShape of something else than 0: then all of it is nonzero.
bool is_filled(InferContext& c) {
  const NodeId producer = c.tensor(0).producer;
  if (producer == kNoNode || c.graph().nodes[producer].op != "ConstantOfShape") return false;
  return number_attribute(c.graph().nodes[producer].attributes, "value").value_or(0) != 0;
}

Result<void> nonzero(InferContext& c) {
  const Dim rank = static_cast<int64_t>(std::max<size_t>(c.rank(0), 1));
  if (auto tokens = tokens_routed(c)) {
    c.set(0, DType::kInt64, {rank, std::move(*tokens)});
    return {};
  }
  c.set(0, DType::kInt64, {rank, elements(c.shape(0))});
  if (!is_filled(c)) warn_bound(c, "the number of nonzero elements");
  return {};
}

// k is an attribute before opset 10.
Result<void> top_k(InferContext& c) {
  const auto axis = TRY(c.axis(c.attributes().integer("axis", -1), c.rank(0)));
  Shape shape = c.shape(0);
  if (!c.has(1)) {
    const auto k = c.required_integer("k");
    if (!k) return tl::unexpected(k.error());
    shape[axis] = *k;
  } else if (const auto k = known(c, 1); k && k->size() == 1) {
    shape[axis] = k->front().over;
  } else {
    warn_bound(c, "the number of largest elements");
  }
  if (!c.decider().at_most(shape[axis], c.shape(0)[axis])) {
    return c.fail("E246", fmt::format("the {} largest of {} elements", shape[axis].text(),
                                      c.shape(0)[axis].text()));
  }
  c.set(1, DType::kInt64, shape);
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

// Outputs: the values, and per value its first place, each element's value, and its count.
Result<void> unique(InferContext& c) {
  Shape values{elements(c.shape(0))};
  Dim most = values[0];
  if (c.attributes().has("axis")) {
    const auto axis = TRY(c.axis(c.attributes().integer("axis", 0), c.rank(0)));
    values = c.shape(0);
    most = values[axis];
  }
  warn_bound(c, "the number of unique elements");
  c.set(0, c.dtype(0), std::move(values));
  for (size_t i = 1; i < 4; ++i) c.set(i, DType::kInt64, {most});
  return {};
}

Result<void> compress(InferContext& c) {
  if (auto checked = require_rank(c, 1, 1, 1); !checked) return checked;
  const Dim& condition = c.shape(1)[0];
  Shape shape;
  if (c.attributes().has("axis")) {
    const auto axis = TRY(c.axis(c.attributes().integer("axis", 0), c.rank(0)));
    shape = c.shape(0);
    shape[axis] = min(shape[axis], condition);
  } else {
    shape = {min(elements(c.shape(0)), condition)};
  }
  warn_bound(c, "the number of selected elements");
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

// boxes [n, boxes, 4], scores [n, classes, boxes] -> [selected, 3]
Result<void> non_max_suppression(InferContext& c) {
  if (auto checked = require_rank(c, 0, 3, 3); !checked) return checked;
  if (auto checked = require_rank(c, 1, 3, 3); !checked) return checked;
  const Shape& scores = c.shape(1);
  Dim each = scores[2];
  const auto most = known(c, 2);
  if (!c.has(2)) each = 0;  // "default to 0, which means no output"
  if (most && most->size() == 1) each = max(0, min(each, most->front().over));
  warn_bound(c, "the number of selected boxes");
  c.set(0, DType::kInt64, {scores[0] * scores[1] * each, 3});
  return {};
}

constexpr OpRow kIndexRows[] = {
    {.name = "Compress",
     .since = 9,
     .inputs = 2,
     .attributes = "axis",
     .shape = compress,
     .lower = lower::pick,
     .example = "f32[B,8] bool[8] {axis=1} -> f32[B,8] | flop 0 | keeps in1 | grads in0"},
    {.name = "Gather",
     .traits = OpRow::kPicksByIndex,
     .weights = slots(0),
     .inputs = 2,
     .attributes = "axis",
     .shape = gather,
     .lower = lower::gather,
     .example = "f32[1000,768] i64[B,S] -> f32[B,S,768] | flop 0 | keeps in1 | grads in0"},
    {.name = "GatherElements",
     .traits = OpRow::kPicksByIndex,
     .since = 11,
     .inputs = 2,
     .attributes = "axis",
     .shape = gather_elements,
     .lower = lower::gather_elements,
     .example = "f32[B,8] i64[B,3] {axis=1} -> f32[B,3] | flop 0 | keeps in0 in1 | grads in0"},
    {.name = "GatherND",
     .traits = OpRow::kPicksByIndex,
     .weights = slots(0),
     .since = 11,
     .inputs = 2,
     .attributes = "batch_dims",
     .shape = gather_nd,
     .lower = lower::pick,
     .example =
         "f32[B,4,8] i64[B,3,1] {batch_dims=1} -> f32[B,3,8] | flop 0 | keeps in1 | grads in0"},
    {.name = "NonMaxSuppression",
     .since = 10,
     .inputs = 2,
     .attributes = "center_point_box",
     .shape = non_max_suppression,
     .lower = lower::no_gradient,
     .example = "f32[B,50,4] f32[B,5,50] i64[1]=[7] -> i64[35*B,3] | flop 105*B"},
    {.name = "NonZero",
     .since = 9,
     .shape = nonzero,
     .lower = lower::no_gradient,
     .example = "bool[B,4] -> i64[2,4*B] | flop 8*B"},
    {.name = "OneHot",
     .since = 9,
     .inputs = 3,
     .attributes = "axis",
     .shape = one_hot,
     .lower = lower::no_gradient,
     .host_from = 1,
     .example = "i64[B,S] i64[]=[10] f32[2] -> f32[B,S,10] | flop 10*B*S"},
    {.name = "Scatter",
     .traits = OpRow::kScatters,
     .since = 9,
     .inputs = 3,
     .attributes = "axis",
     .shape = scatter_elements,
     .lower = lower::scatter,
     .example =
         "f32[B,8] i64[B,2] f32[B,2] {axis=1} -> f32[B,8] | flop 0 | keeps in1 | grads in0 in2"},
    {.name = "ScatterElements",
     .traits = OpRow::kScatters,
     .since = 11,
     .inputs = 3,
     .attributes = "axis reduction",
     .shape = scatter_elements,
     .lower = lower::scatter,
     .example =
         "f32[B,8] i64[B,2] f32[B,2] {axis=1} -> f32[B,8] | flop 0 | keeps in1 | grads in0 in2"},
    {.name = "ScatterND",
     .traits = OpRow::kScatters,
     .since = 11,
     .inputs = 3,
     .attributes = "reduction",
     .shape = scatter_nd,
     .lower = lower::scatter,
     .example = "f32[B,8] i64[3,1] f32[3,8] -> f32[B,8] | flop 0 | keeps in1 | grads in0 in2"},
    {.name = "TensorScatter",
     .since = 24,
     .inputs = 2,
     .attributes = "axis mode",
     .shape = like_first,
     .lower = lower::scatter,
     .example = "f32[B,8,100,16] f32[B,8,1,16] i64[B] -> f32[B,8,100,16] | flop 0 | keeps in1 | "
                "grads in0"},
    {.name = "TopK",
     .attributes = "axis k largest sorted",
     .shape = top_k,
     .lower = lower::top_k,
     .host_from = 1,
     .example = "f32[B,100] i64[1]=[5] -> f32[B,5] i64[B,5] | flop 0 | keeps out1 | grads in0"},
    {.name = "Unique",
     .since = 11,
     .attributes = "axis sorted",
     .shape = unique,
     .lower = lower::no_gradient,
     .example = "f32[B,4] -> f32[4*B] i64[4*B] i64[4*B] i64[4*B] | flop 16*B"},
};

}  // namespace

std::span<const OpRow> index_rows() { return kIndexRows; }

}  // namespace plimsoll::ops
