// Activations.
#include "graph/ops/data_propagation.h"
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"

namespace plimsoll::ops {
namespace {

// The slope of PRelu must not widen the input.
Result<void> prelu(InferContext& c) {
  auto shape = broadcast_two(c, c.shape(0), c.shape(1));
  if (!shape) return tl::unexpected(shape.error());
  if (shape->size() != c.rank(0)) return c.fail("E251", "the slope has more dimensions than input");
  c.set(0, c.dtype(0), c.shape(0));
  return {};
}

Result<void> clip(InferContext& c) {
  c.set(0, c.dtype(0), c.shape(0));
  auto values = known(c, 0);
  const auto low = known(c, 1);
  const auto high = known(c, 2);
  if (!values || (c.has(1) && (!low || low->size() != 1)) ||
      (c.has(2) && (!high || high->size() != 1)) || c.opset() < 11) {
    return {};
  }
  for (Fraction& value : *values) {
    if (low && !(low->front().under == value.under)) return {};
    if (high && !(high->front().under == value.under)) return {};
    if (low) value.over = max(value.over, low->front().over);
    if (high) value.over = min(value.over, high->front().over);
  }
  set_known(c, 0, std::move(*values));
  return {};
}

// Operators of com.microsoft that add a bias of one dimension first.
Result<void> biased(InferContext& c) {
  if (auto checked = require_rank(c, 0, 1); !checked) return checked;
  if (c.has(1)) {
    auto shape = broadcast_two(c, c.shape(0), c.shape(1));
    if (!shape) return tl::unexpected(shape.error());
  }
  c.set(0, c.dtype(0), c.shape(0));
  return {};
}

constexpr OpRow kActivationRows[] = {
    {.name = "Affine",
     .attributes = "alpha beta",
     .shape = like_first,
     .lower = lower::keep_nothing,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "BiasGelu",
     .domain = "com.microsoft",
     .inputs = 2,
     .shape = biased,
     .lower = lower::biased_gelu,
     .example = "f32[B,8,16] f32[16] -> f32[B,8,16]"},
    {.name = "Celu",
     .since = 12,
     .attributes = "alpha",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Clip",
     .attributes = "consumed_inputs max min",
     .shape = clip,
     .lower = lower::clip,
     .host_from = 1,
     .example = "f32[B,4] f32[] f32[] -> f32[B,4]"},
    {.name = "Elu",
     .attributes = "alpha consumed_inputs",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "FastGelu",
     .domain = "com.microsoft",
     .shape = biased,
     .lower = lower::biased_gelu,
     .example = "f32[B,8,16] f32[16] -> f32[B,8,16]"},
    {.name = "Gelu",
     .since = 20,
     .attributes = "approximate",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,8,16] -> f32[B,8,16]"},
    {.name = "Gelu",
     .domain = "com.microsoft",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,8,16] -> f32[B,8,16]"},
    {.name = "HardSigmoid",
     .attributes = "alpha beta consumed_inputs",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "HardSwish",
     .since = 14,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "LeakyRelu",
     .attributes = "alpha consumed_inputs",
     .shape = like_first,
     .lower = lower::leaky_relu,
     .example = "f32[B,4] {alpha=0.1} -> f32[B,4]"},
    {.name = "Mish",
     .since = 18,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "PRelu",
     .inputs = 2,
     .attributes = "consumed_inputs",
     .shape = prelu,
     .lower = lower::prelu,
     .example = "f32[B,8,7,7] f32[8,1,1] -> f32[B,8,7,7]"},
    {.name = "ParametricSoftplus",
     .attributes = "alpha beta",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "QuickGelu",
     .domain = "com.microsoft",
     .attributes = "alpha",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,8,16] -> f32[B,8,16]"},
    {.name = "Relu",
     .attributes = "consumed_inputs",
     .shape = like_first,
     .lower = lower::keep_result,
     .example = "f32[B,8,7,7] -> f32[B,8,7,7]"},
    {.name = "ScaledTanh",
     .attributes = "alpha beta",
     .shape = like_first,
     .lower = lower::keep_result,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Selu",
     .attributes = "alpha consumed_inputs gamma",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Shrink",
     .since = 9,
     .attributes = "bias lambd",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Sigmoid",
     .traits = OpRow::kSquashing,
     .attributes = "consumed_inputs",
     .shape = like_first,
     .lower = lower::keep_result,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Softplus",
     .traits = OpRow::kSquashing,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Softsign",
     .shape = like_first,
     .lower = lower::softsign,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Swish",
     .since = 24,
     .attributes = "alpha",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "Tanh",
     .traits = OpRow::kSquashing,
     .attributes = "consumed_inputs",
     .shape = like_first,
     .lower = lower::keep_result,
     .example = "f32[B,4] -> f32[B,4]"},
    {.name = "ThresholdedRelu",
     .since = 10,
     .attributes = "alpha",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4]"},
};

}  // namespace

std::span<const OpRow> activation_rows() { return kActivationRows; }

}  // namespace plimsoll::ops
