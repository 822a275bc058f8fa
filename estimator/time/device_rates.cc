#include "estimator/time/device_rates.h"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, kArithmeticCount> kNames = {
    "f32", "f64", "f16", "bf16", "tf32_tensor", "f16_tensor", "bf16_tensor", "f8_tensor", "int8",
};

}  // namespace

std::string_view name(Arithmetic arithmetic) { return kNames[static_cast<size_t>(arithmetic)]; }

std::optional<Arithmetic> arithmetic_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Arithmetic>(i);
  }
  return std::nullopt;
}

Arithmetic arithmetic_of(DType dtype, bool tensor_core) {
  switch (dtype) {
    case DType::kFloat64:
      return Arithmetic::kF64;
    case DType::kFloat16:
      return tensor_core ? Arithmetic::kF16Tensor : Arithmetic::kF16;
    case DType::kBFloat16:
      return tensor_core ? Arithmetic::kBf16Tensor : Arithmetic::kBf16;
    case DType::kFloat32:
      return tensor_core ? Arithmetic::kTf32Tensor : Arithmetic::kF32;
    case DType::kFloat8E4M3:
    case DType::kFloat8E4M3Fnuz:
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2Fnuz:
      return Arithmetic::kF8Tensor;
    case DType::kInt8:
    case DType::kUint8:
      return Arithmetic::kInt8;
    default:
      return Arithmetic::kF32;
  }
}

double DeviceRates::peak_of(Arithmetic arithmetic) const {
  const double own = peak[static_cast<size_t>(arithmetic)];
  return own > 0 ? own : peak[static_cast<size_t>(Arithmetic::kF32)];
}

}  // namespace plimsoll
