// Functions and losses of two tensors that PyTorch runs as one operator and exporters write in
// pieces: recover() puts them together.
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"

namespace plimsoll::ops {
namespace {

// One number of however many dimensions the exporter's reduction left.
Result<void> loss(InferContext& c) {
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
          .example = "f32[B,4] f32[4] -> f32[B,4]"};
}

constexpr OpRow loss_of_two(std::string_view name) {
  return {.name = name,
          .domain = "plimsoll",
          .inputs = 2,
          .shape = loss,
          .lower = lower::function_of_two,
          .example = "f32[B,4] f32[B,4] {rank=1} -> f32[1]"};
}

constexpr OpRow shrinking(std::string_view name) {
  return {.name = name,
          .domain = "plimsoll",
          .shape = like_first,
          .lower = lower::keep_input,
          .example = "f32[B,4] -> f32[B,4]"};
}

constexpr OpRow kRows[] = {
    function("Atan2"),
    function("Logaddexp"),
    loss_of_two("BceLoss"),
    loss_of_two("BceLogitsLoss"),
    loss_of_two("HuberLoss"),
    loss_of_two("KlDivLoss"),
    {.name = "Roll",
     .domain = "plimsoll",
     .shape = like_first,
     .lower = lower::rearrange,
     .example = "f32[B,4] -> f32[B,4]"},
    loss_of_two("MseLoss"),
    loss_of_two("SmoothL1Loss"),
    shrinking("Hardshrink"),
    shrinking("Softshrink"),
};

}  // namespace

std::span<const OpRow> function_rows() { return kRows; }

}  // namespace plimsoll::ops
