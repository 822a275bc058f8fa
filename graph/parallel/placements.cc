#include "graph/parallel/placements.h"

#include "graph/parallel/holders.h"
#include "graph/parallel/kept_parts.h"
#include "graph/parallel/split_weights.h"

namespace plimsoll::parallel {
namespace {

// Parts of the network's outputs are gathered as they are made.
void gather_outputs(const Graph& graph, TensorSplit& split) {
  for (const TensorId out : graph.outputs) {
    if (split.begins.contains(graph.tensors[out].producer) && split.values.erase(out) > 0)
      split.gathered.insert(graph.tensors[out].producer);
  }
}

}  // namespace

Placements place_weights(const Graph& graph, const std::vector<WeightRole>& roles,
                         const ParallelPlan& plan, const std::vector<TensorId>& received) {
  const auto has = [&](Axis axis) { return plan.mesh.extent(axis) > 1; };
  Placements placements;
  if (plan.splits_layers && has(Axis::kData)) placements.computed = split_weights(graph);
  if (has(Axis::kTensor)) {
    placements.split =
        split_tensors(graph, plan.mesh.extent(Axis::kTensor), plan.sequence_parallel, received);
    if (plan.split_loss == SplitLoss::kGathered) gather_outputs(graph, placements.split);
    placements.computed.merge(std::map(placements.split.weights));
  }
  if (has(Axis::kExpert)) {
    placements.experts = split_experts(graph);
    for (Placement split; const auto& [id, shared] : placements.experts.weights) {
      split = shared;
      if (const auto features = placement_of(placements.computed, id))
        split.features = features->dimension;
      placements.computed.insert_or_assign(id, split);
    }
  }
  if (plan.is_sharded()) placements.kept = kept_parts(graph, roles, placements.computed, plan);
  for (const auto& [id, part] : placements.computed) {
    if (part.axis == Axis::kData) placements.kept.erase(id);
  }
  return placements;
}

}  // namespace plimsoll::parallel
