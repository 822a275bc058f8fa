// Checked 64-bit arithmetic: a count is never wrong silently.
#pragma once

#include <cstdint>
#include <optional>

namespace plimsoll {

inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

inline std::optional<int64_t> checked_multiply(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

// Nothing where b does not divide a, or the quotient leaves 64 bits.
inline std::optional<int64_t> checked_divide(int64_t a, int64_t b) {
  if (b == -1) return checked_multiply(a, b);
  if (b == 0 || a % b != 0) return std::nullopt;
  return a / b;
}

// Rounds towards minus infinity and plus infinity. `b` must not be 0; INT64_MIN / -1 is excluded by
// the callers, which divide counts.
constexpr int64_t floor_divide(int64_t a, int64_t b) {
  return a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
}
constexpr int64_t ceil_divide(int64_t a, int64_t b) {
  return a / b + ((a % b != 0 && (a % b < 0) == (b < 0)) ? 1 : 0);
}
// Of counts of bytes: overflows above INT64_MAX - granule.
constexpr int64_t round_up(int64_t bytes, int64_t granule) {
  return (bytes + granule - 1) / granule * granule;
}

}  // namespace plimsoll
