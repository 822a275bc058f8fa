// order_of: the order in which a pipeline's stage runs the passes of a step's micro-batches. One
// stage alone accumulates gradients.
#pragma once

#include <vector>

#include "graph/ir/kernel.h"
#include "graph/ir/parallel_plan.h"

namespace plimsoll::parallel {

// Of so many stages this one, counted from the input on.
struct Stage {
  int64_t stages = 1, stage = 0, micro_batches = 1;
};

struct Work {
  Pass pass = Pass::kForward;  // or kBackward
  int64_t micro_batch = 0;
  bool operator==(const Work&) const = default;
};

// Both passes of each micro-batch. Ahead of the backward pass are at most as many forward passes as
// stages follow, and one; or all of them.
std::vector<Work> order_of(Schedule schedule, const Stage& at);

}  // namespace plimsoll::parallel
