// confidence: how wide a memory range is that holds more, or less, often than 95 times in 100.
#pragma once

#include "estimator/memory/verdict.h"

namespace plimsoll {

inline constexpr double kUsualConfidence = 0.95;

// `range` around `value`, which holds in 95 % of runs, made to hold in a share `confidence` of
// them: 0.5 to 0.99. Its ends stay where they are at 0.95.
Range at_confidence(const Range& range, int64_t value, double confidence);

}  // namespace plimsoll
