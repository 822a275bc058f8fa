// OrderlessSum: a sum of doubles that is the same in whatever order they are added.
#pragma once

#include <cmath>

namespace plimsoll {

// In steps of 2^-80, of amounts below 2^30: seconds to 10^-24, exactly where they are above 2^-28.
// What is larger, or no number, is added as doubles are: the order of several such may show.
class OrderlessSum {
 public:
  void operator+=(double value) {
    if (std::abs(value) < kMost) {
      steps_ += static_cast<Steps>(value * kStepsOfOne);
    } else {
      beyond_ += value;
    }
  }
  double value() const { return static_cast<double>(steps_) / kStepsOfOne + beyond_; }

 private:
  __extension__ using Steps = __int128;
  static constexpr double kStepsOfOne = 0x1p80, kMost = 0x1p30;
  Steps steps_ = 0;
  double beyond_ = 0;
};

}  // namespace plimsoll
