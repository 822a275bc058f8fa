// KernelPrediction: what the model of a kernel's class says of its time, before law and range.
// Private to estimator/kernels and
// estimator/library.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "graph/ir/kernel.h"

namespace plimsoll {

struct KernelPrediction {
  double seconds = 0;
  // Of it, arithmetic and the traffic beside it: the longer of the two counts.
  double compute_seconds = 0, memory_seconds = 0;
  double flop = 0, bytes = 0, workspace = 0;
  double layout_conversion = 0;  // seconds, beside the rest
  double converted = 0;          // ... within `seconds`: the same, of a framework's own kernels
  std::string_view algorithm{};
  bool memory_bound = false;
  bool in_situ = false;  // the time is that inside a step
  int64_t launches = 1;
};

// In a queue the next launch is prepared while a kernel runs, and at most this much is left of it:
// the rest was the benchmark's own host call.
inline constexpr double kLongestLaunchInQueue = 6e-6;

// Whether this is its operator. (A std::string's own comparison to a literal is a call.)
template <size_t kSize>
bool is(const KernelAt& kernel, const char (&op)[kSize]) {
  return kernel.op.size() == kSize - 1 && std::memcmp(kernel.op.data(), op, kSize - 1) == 0;
}

// Of an operand in memory.
inline double element_bytes(const KernelAt& kernel) {
  return std::max(bits(kernel.dtype), 8) / 8.0;
}

}  // namespace plimsoll
