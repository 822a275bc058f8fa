#include "estimator/kernels/device_rates.h"

#include <algorithm>
#include <cmath>

#include "hwdb/power_limit.h"

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

bool on_tensor_cores(Arithmetic a) {
  return a == Arithmetic::kTf32Tensor || a == Arithmetic::kF16Tensor ||
         a == Arithmetic::kBf16Tensor || a == Arithmetic::kF8Tensor;
}

DeviceRates rates_of(const Device& device) {
  // In the order of Arithmetic, as device files name them.
  constexpr std::array<std::string_view, kArithmeticCount> kPeaks = {
      "fp32",        "fp64",        "fp16",       "bf16", "tf32_tensor",
      "fp16_tensor", "bf16_tensor", "fp8_tensor", "int8"};
  DeviceRates rates;
  rates.id = device.id;
  rates.compute_capability = 10 * device.compute_capability.major + device.compute_capability.minor;
  rates.sms = static_cast<int>(device.sms);
  for (size_t i = 0; i < kPeaks.size(); ++i) {
    if (const Peak* peak = device.peak(kPeaks[i]))
      rates.peak[i] = peak->at(device.boost_clock).value;
  }
  // Where 16-bit arithmetic is a token rate (1/64 on consumer Pascal), libraries store 16 bits and
  // multiply in 32.
  const double f32 = rates.peak[static_cast<size_t>(Arithmetic::kF32)];
  for (const Arithmetic a : {Arithmetic::kF16, Arithmetic::kBf16}) {
    double& peak = rates.peak[static_cast<size_t>(a)];
    peak = std::max(peak, f32);
  }
  rates.clock = device.boost_clock.value;
  rates.maximum_clock = std::max(1.0, device.max_clock / device.boost_clock);
  rates.sustained = std::min(1.0, device.sustained_clock / device.boost_clock);
  rates.tensor_clock = tensor_share(device.architecture);
  rates.bandwidth = device.bandwidth.value;
  rates.l2_bytes = static_cast<double>(device.l2.value);
  return rates;
}

Arithmetic arithmetic_on(const DeviceRates& rates, DType dtype, bool tensor_core) {
  const auto peak = [&](Arithmetic a) { return rates.peak[static_cast<size_t>(a)]; };
  Arithmetic plain = arithmetic_of(dtype, tensor_core);
  if (tensor_core && peak(plain) <= 0) plain = arithmetic_of(dtype, false);
  if (plain != Arithmetic::kF16 && plain != Arithmetic::kBf16) return plain;
  const Arithmetic tensor = arithmetic_of(dtype, true);
  if (peak(tensor) > 0) return tensor;
  return peak(plain) <= peak(Arithmetic::kF32) ? Arithmetic::kF32 : plain;
}

// The geometric mean of both limits: 1.11 times the printed boost on an RTX 3090 and an RTX 4090.
double DeviceRates::light_clock() const { return clock * std::sqrt(maximum_clock); }

double DeviceRates::peak_of(Arithmetic arithmetic) const {
  const double own = peak[static_cast<size_t>(arithmetic)];
  return own > 0 ? own : peak[static_cast<size_t>(Arithmetic::kF32)];
}

}  // namespace plimsoll
