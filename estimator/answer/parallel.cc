#include "estimator/answer/parallel.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/ir/weight_role.h"
#include "graph/parallel/axis_word.h"
#include "graph/parallel/holders.h"

namespace plimsoll {
namespace {

// A weight that the ranks which have it do not divide where it is cut.
bool has_uneven_part(const CompiledModel& model, const ParallelPlan& plan) {
  const parallel::Placements& placed = model.placements;
  return std::ranges::any_of(placed.kept, [&](const auto& weight) {
    const auto part = parallel::placement_of(placed.computed, weight.first);
    const parallel::Holders holders(plan, part);
    const Shape& whole = *model.graph.tensors[weight.first].shape;
    const Shape shape = part ? part_of(whole, *part, plan.mesh) : whole;
    const auto extent = shape[holders.cut(shape).dimension].evaluate(model.binding);
    return extent && *extent % holders.ranks() != 0;
  });
}

std::string why_worst(const CompiledModel& model, const ParallelPlan& plan) {
  const int64_t stages = plan.mesh.extent(Axis::kStage);
  if (stages > 1) {
    const int64_t stage = plan.mesh.coordinate(Axis::kStage);
    return fmt::format("its stage, {} of {}, {}", stage + 1, stages,
                       stage == 0            ? "has the most micro-batches in memory"
                       : stage + 1 == stages ? "has the network's outputs and the loss"
                                             : "has more blocks than others");
  }
  const int64_t ranks = plan.mesh.shards();
  if (plan.sharded == Sharded::kNothing || ranks == 1) return "all ranks have the same";
  if (plan.sharded_by != ShardedBy::kFsdp2 || !has_uneven_part(model, plan))
    return "all ranks have equal parts";
  return fmt::format("dimensions that {} GPUs do not divide have larger parts on the first ones",
                     ranks);
}

}  // namespace

ParallelAnswer parallel_answer(const CompiledModel& model, bool chosen) {
  const ParallelPlan& plan = model.recipe.parallel;
  ParallelAnswer answer{.axes = {}, .rank = plan.mesh.rank, .worst_because = {}};
  for (size_t axis = 0; axis < kAxisCount; ++axis) {
    if (plan.mesh.extents[axis] <= 1) continue;
    const std::string_view called = parallel::axis_word(static_cast<Axis>(axis), plan);
    answer.axes[std::string(called)] = plan.mesh.extents[axis];
  }
  if (!chosen && !model.recorded) answer.worst_because = why_worst(model, plan);
  return answer;
}

}  // namespace plimsoll
