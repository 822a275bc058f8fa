#include "estimator/app/explain/weight_sharing.h"

#include <algorithm>

#include "graph/ir/weight_role.h"
#include "graph/parallel/axis_word.h"
#include "graph/parallel/holders.h"
#include "graph/parallel/kept_parts.h"
#include "graph/parallel/unit.h"

namespace plimsoll {
namespace {

// FSDP gathers blocks, DeepSpeed what each layer reads.
std::string unit_of(const CompiledModel& model, TensorId weight, NodeId node) {
  if (model.recipe.parallel.sharded_by == ShardedBy::kZero) return model.graph.nodes[node].module;
  std::vector<parallel::Unit> units = parallel::units_below(model.graph, "");
  parallel::find_weights(model.graph, units);
  const auto has = [&](const parallel::Unit& unit) {
    return std::ranges::find(unit.weights, weight) != unit.weights.end();
  };
  const auto at = std::ranges::find_if(units, has);
  return at == units.end() ? "" : at->module;
}

}  // namespace

std::vector<WeightSharing> weight_sharing(const CompiledModel& model, NodeId node) {
  const ParallelPlan& plan = model.recipe.parallel;
  const parallel::Placements& placed = model.placements;
  std::vector<WeightSharing> shared;
  for (const TensorId in : model.graph.nodes[node].inputs) {
    if (in == kNoTensor || model.graph.tensors[in].kind != TensorKind::kParameter) continue;
    const auto part = parallel::placement_of(placed.computed, in);
    const bool kept = placed.kept.contains(in);
    if (!part && !kept) continue;
    WeightSharing one{.name = model.graph.tensors[in].name};
    if (part) {
      one.computed_along = parallel::axis_word(part->axis, plan);
      one.computed_by = plan.mesh.extent(part->axis);
      if (part->features) {
        one.computed_along += " and " + std::string(parallel::axis_word(Axis::kTensor, plan));
        one.computed_by *= plan.mesh.extent(Axis::kTensor);
      }
    }
    if (kept) {
      one.kept_along = parallel::axis_word(Axis::kShard, plan);
      one.kept_by = parallel::Holders(plan, part).ranks();
      one.gathered = parallel::is_gathered(model.graph.tensors[in], plan);
      if (one.gathered) one.unit = unit_of(model, in, node);
    }
    shared.push_back(std::move(one));
  }
  return shared;
}

}  // namespace plimsoll
