// Along which axes ranks sum gradients of the weights that they have alike.
#pragma once

#include <optional>
#include <vector>

#include "graph/ir/parallel_plan.h"
#include "graph/ir/step.h"

namespace plimsoll::parallel {

struct SumAlong {
  Axis axis = Axis::kData;
  bool joined = false;  // as Collective::joined
};

// One after the other. `part`: of which the weight is this rank's part; along that axis nobody else
// has it, and of experts, whose other ranks are fewer, the sum is their own
// (megatron/core/parallel_state.py: get_expert_data_parallel_group).
std::vector<SumAlong> sums_of(const ParallelPlan& plan,
                              const std::optional<Placement>& part = std::nullopt);

}  // namespace plimsoll::parallel
