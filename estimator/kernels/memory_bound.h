// Work bound by memory: element-wise, normalisation, softmax, pooling, copies, look-ups, updates.
//   seconds = launch + max(factor of the operator * (bytes + bytes in flight) / sustained
//   bandwidth,
//                          elements * clocks of the operator / clocks of the card)
//   and for each row of a layer norm's forward pass so many clocks more.
#pragma once

#include <span>
#include <string_view>

#include "estimator/kernels/device_rates.h"
#include "graph/ir/kernel.h"

namespace plimsoll {

struct MemoryBoundCost {
  double seconds = 0;
  double bytes = 0;  // moved
};

class MemoryBoundModel {
 public:
  // `terms`: kRowsTerms.
  MemoryBoundModel(std::span<const double> terms, const DeviceRates& rates);
  // Of a kernel of any class but GEMM, convolution, recurrent and attention. `by_element`: element
  // by element, as images with channels first are; vectors of channels are not.
  MemoryBoundCost cost(const KernelAt& kernel, bool by_element = true) const;
  double launch_seconds() const { return fixed_; }
  // Of one multiprocessor for an element of cuDNN's batch norm; 0: not known.
  double norm_clocks(Pass pass) const;
  // Of a batch norm of bfloat16 with channels last, without its launch; 0: not known.
  double norm_last_seconds(const KernelAt& kernel) const;

 private:
  // How often the operator really moves its compulsory traffic.
  double traffic_factor(const KernelAt& kernel) const;
  double clocks(const KernelAt& kernel) const;
  bool is_odd_layer_norm(const KernelAt& kernel) const;
  std::span<const double> terms_;
  double bandwidth_, fixed_, in_flight_, clock_rate_;
};

}  // namespace plimsoll
