#include "estimator/memory/confidence.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace plimsoll {
namespace {

struct Width {
  double confidence, width;
};

// Of the 1734 measured processes in tests/measured (GPUMemNet, SchedTune, DLInfBench and others),
// the share whose error is at most `width` of the range's half. The tail is much longer than a
// normal distribution's, which would have 1.31 at 0.99.
constexpr std::array<Width, 7> kWidths{
    {{.5, .18}, {.68, .33}, {.8, .5}, {.9, .79}, {.95, 1}, {.98, 1.58}, {.99, 2.21}}};

double width_at(double confidence) {
  if (confidence <= kWidths.front().confidence) return kWidths.front().width;
  for (size_t i = 1; i < kWidths.size(); ++i) {
    const Width low = kWidths[i - 1], high = kWidths[i];
    if (confidence > high.confidence) continue;
    const double part = (confidence - low.confidence) / (high.confidence - low.confidence);
    return low.width + part * (high.width - low.width);
  }
  return kWidths.back().width;
}

}  // namespace

Range at_confidence(const Range& range, int64_t value, double confidence) {
  const double width = width_at(confidence);
  const auto scaled = [&](int64_t half) { return std::llround(width * static_cast<double>(half)); };
  return {std::max<int64_t>(0, value - scaled(value - range.low)),
          value + scaled(range.high - value)};
}

}  // namespace plimsoll
