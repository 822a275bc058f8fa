// Activations.
#include "graph/base/try.h"
#include "graph/ops/data_propagation.h"
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"

namespace plimsoll::ops {
namespace {

// The slope of PRelu must not widen the input.
Result<void> prelu(InferContext& c) {
  auto shape = TRY(broadcast_two(c, c.shape(0), c.shape(1)));
  if (shape.size() != c.rank(0)) return c.fail("E251", "the slope has more dimensions than input");
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
    TRY(broadcast_two(c, c.shape(0), c.shape(1)));
  }
  c.set(0, c.dtype(0), c.shape(0));
  return {};
}

constexpr OpRow kActivationRows[] = {
    {.name = "Affine",
     .attributes = "alpha beta",
     .shape = like_first,
     .lower = lower::keep_nothing,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | grads in0"},
    {.name = "BiasGelu",
     .traits = OpRow::kRectifier,
     .weights = slots(1),
     .domain = "com.microsoft",
     .inputs = 2,
     .shape = biased,
     .lower = lower::biased_gelu,
     .example =
         "f32[B,8,16] f32[16] -> f32[B,8,16] | flop 1152*B | keeps f32[B,8,16] | grads in0 in1"},
    {.name = "Celu",
     .traits = OpRow::kRectifier | OpRow::kOfResult,
     .since = 12,
     .attributes = "alpha",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 32*B | keeps in0 | grads in0"},
    {.name = "Clip",
     .traits = OpRow::kRectifier,
     .attributes = "consumed_inputs max min",
     .shape = clip,
     .lower = lower::clip,
     .host_from = 1,
     .example = "f32[B,4] f32[] f32[] -> f32[B,4] | flop 4*B | keeps in0 | grads in0"},
    {.name = "Elu",
     .traits = OpRow::kRectifier | OpRow::kOfResult,
     .attributes = "alpha consumed_inputs",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 32*B | keeps in0 | grads in0"},
    {.name = "FastGelu",
     .traits = OpRow::kRectifier,
     .weights = slots(1),
     .domain = "com.microsoft",
     .shape = biased,
     .lower = lower::biased_gelu,
     .example =
         "f32[B,8,16] f32[16] -> f32[B,8,16] | flop 1152*B | keeps f32[B,8,16] | grads in0 in1"},
    {.name = "Gelu",
     .traits = OpRow::kRectifier,
     .since = 20,
     .attributes = "approximate",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,8,16] -> f32[B,8,16] | flop 1024*B | keeps in0 | grads in0"},
    {.name = "Gelu",
     .traits = OpRow::kRectifier,
     .domain = "com.microsoft",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,8,16] -> f32[B,8,16] | flop 1024*B | keeps in0 | grads in0"},
    {.name = "HardSigmoid",
     .attributes = "alpha beta consumed_inputs",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | keeps in0 | grads in0"},
    {.name = "HardSwish",
     .traits = OpRow::kRectifier,
     .since = 14,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | keeps in0 | grads in0"},
    {.name = "LeakyRelu",
     .traits = OpRow::kRectifier | OpRow::kOfResult,
     .attributes = "alpha consumed_inputs",
     .shape = like_first,
     .lower = lower::leaky_relu,
     .example = "f32[B,4] {alpha=0.1} -> f32[B,4] | flop 4*B | keeps in0 | grads in0"},
    {.name = "Mish",
     .traits = OpRow::kRectifier,
     .since = 18,
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 32*B | keeps in0 | grads in0"},
    {.name = "PRelu",
     .traits = OpRow::kRectifier,
     .weights = slots(1),
     .inputs = 2,
     .attributes = "consumed_inputs",
     .shape = prelu,
     .lower = lower::prelu,
     .example =
         "f32[B,8,7,7] f32[8,1,1] -> f32[B,8,7,7] | flop 392*B | keeps in0 in1 | grads in0 in1"},
    {.name = "ParametricSoftplus",
     .attributes = "alpha beta",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | keeps in0 | grads in0"},
    {.name = "QuickGelu",
     .traits = OpRow::kRectifier,
     .domain = "com.microsoft",
     .attributes = "alpha",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,8,16] -> f32[B,8,16] | flop 128*B | keeps in0 | grads in0"},
    {.name = "Relu",
     .traits = OpRow::kRectifier | OpRow::kOfResult,
     .attributes = "consumed_inputs",
     .shape = like_first,
     .lower = lower::keep_result,
     .example = "f32[B,8,7,7] -> f32[B,8,7,7] | flop 392*B | keeps out0 | grads in0"},
    {.name = "ScaledTanh",
     .attributes = "alpha beta",
     .shape = like_first,
     .lower = lower::keep_result,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | keeps out0 | grads in0"},
    {.name = "Selu",
     .traits = OpRow::kRectifier | OpRow::kOfResult,
     .attributes = "alpha consumed_inputs gamma",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 32*B | keeps in0 | grads in0"},
    {.name = "Shrink",
     .since = 9,
     .attributes = "bias lambd",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | keeps in0 | grads in0"},
    {.name = "Sigmoid",
     .traits = OpRow::kSquashing | OpRow::kOfResult,
     .weights = slots(0),
     .attributes = "consumed_inputs",
     .shape = like_first,
     .lower = lower::keep_result,
     .example = "f32[B,4] -> f32[B,4] | flop 32*B | keeps out0 | grads in0"},
    {.name = "Softplus",
     .traits = OpRow::kSquashing | OpRow::kRectifier,
     .weights = slots(0),
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 32*B | keeps in0 | grads in0"},
    {.name = "Softsign",
     .shape = like_first,
     .lower = lower::softsign,
     .example = "f32[B,4] -> f32[B,4] | flop 12*B | keeps f32[B,4] in0 | grads in0"},
    {.name = "Swish",
     .traits = OpRow::kRectifier,
     .since = 24,
     .attributes = "alpha",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 32*B | keeps in0 | grads in0"},
    {.name = "Tanh",
     .traits = OpRow::kSquashing | OpRow::kOfResult,
     .weights = slots(0),
     .attributes = "consumed_inputs",
     .shape = like_first,
     .lower = lower::keep_result,
     .example = "f32[B,4] -> f32[B,4] | flop 32*B | keeps out0 | grads in0"},
    {.name = "ThresholdedRelu",
     .traits = OpRow::kRectifier,
     .since = 10,
     .attributes = "alpha",
     .shape = like_first,
     .lower = lower::keep_input,
     .example = "f32[B,4] -> f32[B,4] | flop 4*B | keeps in0 | grads in0"},
};

}  // namespace

std::span<const OpRow> activation_rows() { return kActivationRows; }

}  // namespace plimsoll::ops
