// Strong quantities: Bytes / FlopPerSecond does not compile. Only what has a meaning is defined:
// sums and ratios of one unit, scaling by a number, work / rate = time.
//
//   Seconds t = Bytes{1 << 20} / BytesPerSecond{243.3e9};
#pragma once

#include <compare>
#include <cstdint>

namespace plimsoll {

template <class Unit, class Rep>
struct Quantity {
  Rep value{};
  // NOLINTNEXTLINE(modernize-use-nullptr): it takes the 0 of a rewritten a < b for a pointer
  constexpr auto operator<=>(const Quantity&) const = default;

  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.value + b.value}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.value - b.value}; }
  friend constexpr Quantity operator*(Quantity a, Rep factor) { return {a.value * factor}; }
  friend constexpr Quantity operator*(Rep factor, Quantity a) { return {a.value * factor}; }
  friend constexpr double operator/(Quantity a, Quantity b) {
    return static_cast<double>(a.value) / static_cast<double>(b.value);
  }
  constexpr Quantity& operator+=(Quantity b) { return *this = *this + b; }
};

// Bytes are exact. They wrap like int64_t: sums of sizes from a file go through checked.h.
using Bytes = Quantity<struct BytesUnit, int64_t>;
using Seconds = Quantity<struct SecondsUnit, double>;
using Hertz = Quantity<struct HertzUnit, double>;
using BytesPerSecond = Quantity<struct BytesPerSecondUnit, double>;
using FlopPerSecond = Quantity<struct FlopPerSecondUnit, double>;
using Watts = Quantity<struct WattsUnit, double>;

constexpr Seconds operator/(Bytes bytes, BytesPerSecond rate) {
  return {static_cast<double>(bytes.value) / rate.value};
}
constexpr BytesPerSecond operator/(Bytes bytes, Seconds time) {
  return {static_cast<double>(bytes.value) / time.value};
}

}  // namespace plimsoll
