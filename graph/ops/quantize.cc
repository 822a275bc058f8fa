// Quantisation. The products of quantised operands stand with their families.
#include "graph/base/try.h"
#include "graph/ops/families.h"
#include "graph/ops/lowerings.h"
#include "graph/ops/rules.h"

namespace plimsoll::ops {
namespace {

// Typed like the zero point, else by the attribute, else unsigned bytes.
Result<void> quantize_linear(InferContext& c) {
  const auto asked = TRY(dtype_attribute(c, "output_dtype", DType::kUint8));
  const DType otherwise = asked == DType::kUndefined ? DType::kUint8 : asked;
  c.set(0, c.has(2) ? c.dtype(2) : otherwise, c.shape(0));
  return {};
}

// Typed by the attribute, else like the scale.
Result<void> dequantize_linear(InferContext& c) {
  const auto asked = TRY(dtype_attribute(c, "output_dtype", c.dtype(1)));
  c.set(0, asked == DType::kUndefined ? c.dtype(1) : asked, c.shape(0));
  return {};
}

Result<void> dynamic_quantize_linear(InferContext& c) {
  c.set(0, DType::kUint8, c.shape(0));
  c.set(1, DType::kFloat32, {});
  c.set(2, DType::kUint8, {});
  return {};
}

// a, its scale and zero point, b, its scale and zero point, the result's scale and zero point.
Result<void> quantized_binary(InferContext& c) {
  auto shape = TRY(broadcast_two(c, c.shape(0), c.shape(3)));
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

constexpr OpRow kQuantizeRows[] = {
    {.name = "DequantizeLinear",
     .traits = OpRow::kQuantised,
     .since = 10,
     .inputs = 2,
     .attributes = "axis block_size output_dtype",
     .shape = dequantize_linear,
     .lower = lower::no_gradient,
     .example = "u8[B,4] f32[] u8[] -> f32[B,4] | flop 4*B"},
    {.name = "DynamicQuantizeLinear",
     .traits = OpRow::kQuantised,
     .since = 11,
     .shape = dynamic_quantize_linear,
     .lower = lower::no_gradient,
     .example = "f32[B,4] -> u8[B,4] f32[] u8[] | flop 4*B + 2"},
    {.name = "QLinearAdd",
     .traits = OpRow::kQuantised,
     .domain = "com.microsoft",
     .inputs = 7,
     .shape = quantized_binary,
     .lower = lower::no_gradient,
     .example = "u8[B,4] f32[] u8[] u8[4] f32[] u8[] f32[] u8[] -> u8[B,4] | flop 4*B"},
    {.name = "QLinearLeakyRelu",
     .traits = OpRow::kQuantised,
     .domain = "com.microsoft",
     .inputs = 4,
     .attributes = "alpha",
     .shape = like_first,
     .lower = lower::no_gradient,
     .example = "u8[B,4] f32[] u8[] f32[] u8[] -> u8[B,4] | flop 4*B"},
    {.name = "QLinearMul",
     .traits = OpRow::kQuantised,
     .domain = "com.microsoft",
     .inputs = 7,
     .shape = quantized_binary,
     .lower = lower::no_gradient,
     .example = "u8[B,4] f32[] u8[] u8[4] f32[] u8[] f32[] u8[] -> u8[B,4] | flop 4*B"},
    {.name = "QLinearSigmoid",
     .traits = OpRow::kQuantised,
     .domain = "com.microsoft",
     .inputs = 4,
     .shape = like_first,
     .lower = lower::no_gradient,
     .example = "u8[B,4] f32[] u8[] f32[] u8[] -> u8[B,4] | flop 4*B"},
    {.name = "QuantizeLinear",
     .traits = OpRow::kQuantised,
     .since = 10,
     .inputs = 2,
     .attributes = "axis block_size output_dtype precision saturate",
     .shape = quantize_linear,
     .lower = lower::no_gradient,
     .example = "f32[B,4] f32[] i8[] -> i8[B,4] | flop 4*B"},
};

}  // namespace

std::span<const OpRow> quantize_rows() { return kQuantizeRows; }

}  // namespace plimsoll::ops
