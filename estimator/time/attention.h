// Fused attention: the multiplications of both matrices at a fraction of peak, against the traffic
// of its operands. Nothing here is calibrated yet: efficiencies are assumed and said to be so.
#pragma once

#include "graph/kernel.h"

namespace plimsoll {

struct AttentionCost {
  double seconds = 0;
  double flop = 0, bytes = 0;
  bool memory_bound = false;
};

// `flops`: sustained peak of the kernel's arithmetic; `bandwidth`: sustained B/s.
AttentionCost attention_cost(const AttentionProblem<int64_t>& problem, Pass pass,
                             double element_bytes, double flops, double bandwidth);

}  // namespace plimsoll
