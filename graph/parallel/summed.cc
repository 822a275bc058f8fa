#include "graph/parallel/summed.h"

namespace plimsoll::parallel {

std::vector<SumAlong> sums_of(const ParallelPlan& plan, const std::optional<Placement>& part) {
  const Mesh& mesh = plan.mesh;
  const bool of_expert = part && part->axis == Axis::kExpert;
  std::vector<SumAlong> sums;
  for (const Axis axis : {Axis::kContext, Axis::kShard, Axis::kData}) {
    if (part && part->axis == axis) continue;
    if (axis == Axis::kContext && !of_expert) continue;
    if (mesh.extent(axis) > 1) sums.push_back({.axis = axis, .joined = false});
  }
  if (of_expert || mesh.joined(Axis::kShard).extent(Axis::kShard) == mesh.extent(Axis::kShard))
    return sums;
  // Those that share sequences and experts hold it alike, and are in one group with others.
  if (sums.empty()) sums.push_back({.axis = Axis::kShard});
  sums.front().joined = true;
  return sums;
}

}  // namespace plimsoll::parallel
