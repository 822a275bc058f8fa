// Functions and losses of two tensors that PyTorch runs as one operator and exporters write in
// pieces: recover() puts them together.
#include "graph/base/try.h"
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"

namespace plimsoll::ops {
namespace {

// One number of however many dimensions the exporter's reduction left, or each sample's own.
Result<void> loss_of_each(InferContext& c) {
  if (c.attributes().string("reduction", "") == "none") return broadcast_rule(c);
  const int64_t rank = c.attributes().integer("rank", 0);
  if (rank < 0 || rank > 16) return c.fail("E247", "rank must be from 0 to 16");
  c.set(0, c.dtype(0), Shape(static_cast<size_t>(rank), Dim(1)));
  return {};
}

constexpr OpRow function(std::string_view name) {
  return {.name = name,
          .domain = "plimsoll",
          .inputs = 2,
          .shape = broadcast_rule,
          .lower = lower::function_of_two,
          .example = "f32[B,4] f32[4] -> f32[B,4] | flop 32*B | keeps in0 in1 | grads in0 in1"};
}

constexpr OpRow loss_of_two(std::string_view name, uint32_t traits = 0) {
  return {.name = name,
          .traits = traits,
          .domain = "plimsoll",
          .inputs = 2,
          .attributes = "rank reduction",
          .shape = loss_of_each,
          .lower = lower::function_of_two,
          .example =
              "f32[B,4] f32[B,4] {rank=1} -> f32[1] | flop 32*B | keeps in0 in1 | grads in0 in1"};
}

constexpr OpRow of_input(
    std::string_view name,
    std::string_view example = "f32[B,4] -> f32[B,4] | flop 4*B | keeps in0 | grads in0") {
  return {.name = name,
          .domain = "plimsoll",
          .shape = like_first,
          .lower = lower::keep_input,
          .example = example};
}

// a [..., P, M], b [..., R, M] -> [..., P, R]
Result<void> distances(InferContext& c) {
  for (const size_t i : {0, 1}) {
    if (auto checked = require_rank(c, i, 2); !checked) return checked;
  }
  const Shape& a = c.shape(0);
  const Shape& b = c.shape(1);
  if (auto same = require_equal(c, a.back(), b.back(), "places of the points"); !same) return same;
  auto batch = TRY(broadcast_two(c, Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2)));
  batch.push_back(a[a.size() - 2]);
  batch.push_back(b[b.size() - 2]);
  c.set(0, c.dtype(0), std::move(batch));
  return {};
}

constexpr OpRow distance(std::string_view name) {
  return {
      .name = name,
      .domain = "plimsoll",
      .inputs = 2,
      .shape = distances,
      .lower = lower::distances,
      .example =
          "f32[B,6,4] f32[B,9,4] -> f32[B,6,9] | flop 648*B | keeps in0 in1 out0 | grads in0 in1"};
}

// a [..., I], b [..., J], weight [I, O*J] -> [..., O]
Result<void> bilinear(InferContext& c) {
  for (const size_t i : {0, 1}) {
    if (auto checked = require_rank(c, i, 1); !checked) return checked;
  }
  if (auto checked = require_rank(c, 2, 2, 2); !checked) return checked;
  auto same = require_equal(c, c.shape(2)[0], c.shape(0).back(), "features");
  if (!same) return same;
  Shape y = c.shape(0);
  y.back() = floor_div(c.shape(2)[1], c.shape(1).back());
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

constexpr OpRow kFunctionRows[] = {
    function("Atan2"),
    {.name = "Bernoulli",
     .traits = OpRow::kRandom,
     .domain = "plimsoll",
     .shape = like_first,
     .lower = lower::random,
     .host_from = 0,
     .example = "f32[B,1] -> f32[B,1] | flop 0"},
    {.name = "Bilinear",
     .traits = OpRow::kOneType,
     .weights = slots(2),
     .domain = "plimsoll",
     .inputs = 3,
     .shape = bilinear,
     .lower = lower::bilinear,
     .example = "f32[B,6,8] f32[B,6,4] f32[8,12] -> f32[B,6,3] | flop 1152*B | keeps in0 in1 in2 | "
                "grads in0 in1 in2"},
    distance("Cdist"),
    distance("EuclideanDist"),
    function("Logaddexp"),
    function("Xlogy"),
    loss_of_two("BceLoss"),
    loss_of_two("BceLogitsLoss"),
    loss_of_two("HuberLoss", OpRow::kDistance),
    loss_of_two("KlDivLoss"),
    {.name = "Roll",
     .domain = "plimsoll",
     .shape = like_first,
     .lower = lower::rearrange,
     .example = "f32[B,4] -> f32[B,4] | flop 0 | grads in0"},
    loss_of_two("MseLoss", OpRow::kDistance),
    loss_of_two("SmoothL1Loss", OpRow::kDistance),
    of_input("Hardshrink"),
    of_input("LogSigmoid", "f32[B,4] -> f32[B,4] | flop 32*B | keeps in0 | grads in0"),
    of_input("Softshrink"),
    of_input("Threshold"),
};

}  // namespace

std::span<const OpRow> function_rows() { return kFunctionRows; }

}  // namespace plimsoll::ops
