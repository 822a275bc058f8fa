// A kernel's time before law and range: what the model of its class says. Private to
// estimator/time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "estimator/time/correction.h"
#include "graph/kernel.h"

namespace plimsoll {

struct Draft {
  double seconds = 0;
  double flop = 0, bytes = 0, workspace = 0;
  double turned = 0;  // seconds of changing the layout, beside the rest
  std::string_view algorithm{};
  bool memory_bound = false;
  bool in_situ = false;  // the time is that inside a step
  int64_t launches = 1;
  Corrected corrected{};
};

// In a queue the next launch is prepared while a kernel runs, and at most this much is left of it:
// the rest was the benchmark's own host call.
inline constexpr double kLongestLaunchInQueue = 6e-6;

// Of an operand in memory.
inline double element_bytes(const KernelAt& kernel) {
  return std::max(bits(kernel.dtype), 8) / 8.0;
}

}  // namespace plimsoll
