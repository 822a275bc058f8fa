// Work bound by memory: element-wise, normalisation, softmax, pooling, copies, look-ups, updates.
//   seconds = launch + factor of the operator * (bytes + bytes in flight) / sustained bandwidth
#pragma once

#include <span>
#include <string_view>

#include "graph/kernel.h"

namespace plimsoll {

class MemoryBoundModel {
 public:
  // `terms`: kRowsTerms; `bandwidth` nominal, B/s; `sms` of the card.
  MemoryBoundModel(std::span<const double> terms, double bandwidth, double sms);
  // Seconds of a kernel of any class but GEMM, convolution, recurrent and attention.
  double seconds(const KernelAt& kernel) const;
  // How often the operator really moves its compulsory traffic.
  double traffic_factor(const KernelAt& kernel) const;
  double launch_seconds() const { return fixed_; }

 private:
  std::span<const double> terms_;
  double bandwidth_, fixed_, in_flight_, sms_;
};

}  // namespace plimsoll
