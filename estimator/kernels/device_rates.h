// DeviceRates: the few numbers of a device that time depends on. A plain value: filled from hwdb's
// device file, or by hand for a device that does not exist.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "graph/base/dtype.h"
#include "hwdb/device.h"

namespace plimsoll {

// The unit that does the arithmetic: one peak each.
enum class Arithmetic : uint8_t {
  kF32,
  kF64,
  kF16,
  kBf16,
  kTf32Tensor,
  kF16Tensor,
  kBf16Tensor,
  kF8Tensor,
  kInt8,
};
inline constexpr int kArithmeticCount = 9;
// "f32", "f16_tensor": the words of calibration files.
std::string_view name(Arithmetic arithmetic);
std::optional<Arithmetic> arithmetic_from_name(std::string_view name);
// Operands of `dtype`, on tensor cores where `tensor_core`. Integers other than int8 count as f32.
Arithmetic arithmetic_of(DType dtype, bool tensor_core);

bool on_tensor_cores(Arithmetic arithmetic);

struct DeviceRates {
  std::string id;
  int compute_capability = 0;  // 10 * major + minor
  int sms = 1;
  std::array<double, kArithmeticCount>
      peak{};                // flop/s at the printed boost clock; 0: no such unit
  double clock = 0;          // printed boost, Hz; 0: not known
  double maximum_clock = 1;  // highest clock the card reaches / printed boost
  double sustained = 1;      // clock under its power limit for seconds / printed boost, at most 1
  double tensor_clock = 1;   // of that clock, what tensor cores keep while they multiply
  double bandwidth = 0;      // B/s of device memory, nominal
  double l2_bytes = 0;

  // flop/s at the printed boost; falls back to f32 where the device lacks the unit.
  double peak_of(Arithmetic arithmetic) const;
  // Hz in kernels without products, whose power limits no clock: between the printed boost and the
  // highest, where cards without a fixed clock run.
  double light_clock() const;
};

// The unit libraries use for operands of `dtype` on this card: tensor cores for 16 bits where it
// has them, 32-bit arithmetic on 16-bit storage where its 16-bit unit is a token (1/64 on GP10x).
Arithmetic arithmetic_on(const DeviceRates& rates, DType dtype, bool tensor_core);

// The rates of a card in the database.
DeviceRates rates_of(const Device& device);

}  // namespace plimsoll
