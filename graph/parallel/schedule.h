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
  int64_t chunks = 1;  // parts of the network that it has, where Schedule::kInterleaved takes them
};

struct Work {
  Pass pass = Pass::kForward;  // or kBackward; kBackwardData and kBackwardWeights, where apart
  int64_t micro_batch = 0;
  int64_t chunk = 0;
  bool operator==(const Work&) const = default;
};

// All passes of each micro-batch through each chunk.
//   kOneForwardOneBackward  ahead of the backward pass are at most as many forward passes as stages
//                           follow, and one
//   kForwardFirst           ... or all of them
//   kInterleaved            micro-batches go in groups of as many as there are stages through one
//                           chunk after the other (megatron/core/pipeline_parallel/schedules.py)
//   kZeroBubble             as kOneForwardOneBackward; gradients of weights wait for as many
//                           micro-batches as there are stages before this one
std::vector<Work> order_of(Schedule schedule, const Stage& at);

// Forward passes through a chunk whose backward pass, or gradients of weights, are still to come:
// the most at once.
int64_t most_in_flight(Schedule schedule, const Stage& at);

// So many of a step's micro-batches have passes of their own. Where all go forward before the first
// goes back there is no steady part; the second of the three is like all others but the first,
// whose gradients stay, and the last.
int64_t distinct_micro_batches(Schedule schedule, int64_t micro_batches);

// A schedule's steady part: so many passes in a row, behind which the same follow of micro-batches
// that are so many later. 0 passes: there is no such part.
struct Period {
  size_t passes = 0;
  int64_t micro_batches = 1;
};
Period period_of(Schedule schedule, const Stage& at);

// Of an order with this period, how many more periods follow the one that ends with pass `last`:
// none where a backward pass of it is a micro-batch's first. Gradients of the first micro-batches
// stay, and behind the last backward pass there is an update: both are in no period. Cost: linear
// in the order.
int64_t periods_after(const std::vector<Work>& order, size_t last, const Period& period);

// Of the time of all its passes, what a stage waits for others; `weights`: of that time, what
// gradients of weights take. Narayanan et al., arXiv:2104.04473, 2.2: (p - 1) / (v m); Qi et al.,
// arXiv:2401.10241, table 1: (p - 1) (T_F + T_B - T_W), where T_B is without T_W.
double bubble_of(Schedule schedule, const Stage& at, double weights);

}  // namespace plimsoll::parallel
