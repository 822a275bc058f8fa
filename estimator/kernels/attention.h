// Fused attention: the multiplications of both matrices at a fraction of peak, against the traffic
// of its operands. Nothing here is calibrated yet: efficiencies are assumed and said to be so.
#pragma once

#include "graph/ir/kernel.h"

namespace plimsoll {

struct AttentionCost {
  double seconds = 0;
  double compute_seconds = 0, memory_seconds = 0;  // of which the longer counts
  double flop = 0, bytes = 0;
  bool memory_bound() const { return memory_seconds > compute_seconds; }
};

struct AttentionRates {
  double flops = 1;            // sustained, of the kernel's arithmetic
  double bandwidth = 1;        // B/s, nominal
  int compute_capability = 0;  // 10 * major + minor
  bool first_flash = false;    // flash-attn before 2.0
};

AttentionCost attention_cost(const AttentionProblem<int64_t>& problem, Pass pass,
                             double element_bytes, const AttentionRates& rates);

}  // namespace plimsoll
