// Verdict: whether a point runs in what may be used of a device. The one rule of all verbs.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "graph/base/range.h"

namespace plimsoll {

enum class Verdict : uint8_t {
  kFits,        // even the high end of the range is within what may be used
  kMayFit,      // the range holds what may be used
  kDoesNotFit,  // even the low end needs more
};
// "fits", "may_fit", "does_not_fit".
std::string_view name(Verdict verdict);
constexpr std::array<Verdict, 3> values_of(Verdict) {
  return {Verdict::kFits, Verdict::kMayFit, Verdict::kDoesNotFit};
}

// `bytes`: the 95 % range of what the device needs; `usable`: what there is, less the reserve.
Verdict verdict_of(const Range& bytes, int64_t usable);

}  // namespace plimsoll
