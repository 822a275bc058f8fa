// axis_word: what users call an axis of the mesh in a plan.
#pragma once

#include <string_view>

#include "graph/ir/parallel_plan.h"

namespace plimsoll::parallel {

// Of ZeRO people say data parallel, whatever ranks share.
inline std::string_view axis_word(Axis axis, const ParallelPlan& plan) {
  const bool zero = plan.sharded != Sharded::kNothing && plan.sharded_by == ShardedBy::kZero;
  return kAxisNames[static_cast<size_t>(axis == Axis::kShard && zero ? Axis::kData : axis)];
}

}  // namespace plimsoll::parallel
