#include "graph/parallel/strategies.h"

#include <array>
#include <utility>

#include "graph/parallel/data_parallel.h"
#include "graph/parallel/sharded.h"
#include "graph/parallel/split_layer.h"
#include "graph/parallel/split_weights.h"
#include "graph/parallel/unit.h"

namespace plimsoll::parallel {
namespace {

using ObserverRef = std::unique_ptr<eager::Observer>;

bool has(const ParallelPlan& plan, Axis axis) { return plan.mesh.extent(axis) > 1; }

bool splits(const ParallelPlan& plan) { return plan.splits_layers && has(plan, Axis::kData); }

bool shards(const ParallelPlan& plan) {
  return plan.sharded != Sharded::kNothing && has(plan, Axis::kShard);
}

// Along which whole gradients are summed.
std::vector<Axis> summed_axes(const ParallelPlan& plan) {
  std::vector<Axis> axes;
  if (shards(plan) && plan.sharded >= Sharded::kGradients) return axes;
  for (const Axis axis : {Axis::kShard, Axis::kData}) {
    if (has(plan, axis)) axes.push_back(axis);
  }
  return axes;
}

struct Strategy {
  bool (*applies)(const ParallelPlan& plan);
  ObserverRef (*make)(const Shared& shared);
};

constexpr std::array kStrategies = {
    Strategy{splits,
             [](const Shared& s) -> ObserverRef {
               return std::make_unique<SplitLayers>(s.m, s.graph, s.placements.computed);
             }},
    Strategy{[](const ParallelPlan& plan) { return !summed_axes(plan).empty(); },
             [](const Shared& s) -> ObserverRef {
               return std::make_unique<DataParallel>(s.m, summed_axes(s.m.recipe().parallel));
             }},
    Strategy{shards, [](const Shared& s) -> ObserverRef {
               std::vector<Unit> units = units_below(s.graph, "");
               const Unit around = find_weights(s.graph, units);
               return std::make_unique<ShardedTraining>(s.m, units, around, s.values);
             }}};

}  // namespace

Placements place_weights(const Graph& graph, const std::vector<WeightRole>& roles,
                         const ParallelPlan& plan) {
  Placements placements;
  if (splits(plan)) placements.computed = split_weights(graph);
  for (TensorId id = 0; shards(plan) && id < graph.tensors.size(); ++id) {
    const Tensor& t = graph.tensors[id];
    const bool weight = t.kind == TensorKind::kParameter && is_weight(roles[id]);
    // A single number has no dimension to part, and FSDP2 refuses one.
    if (weight && t.shape && !t.shape->empty() && !placements.computed.contains(id))
      placements.kept[id] = kShardPart;
  }
  return placements;
}

std::vector<ObserverRef> strategies(const Shared& shared) {
  std::vector<ObserverRef> made;
  for (const Strategy& strategy : kStrategies) {
    if (!strategy.applies(shared.m.recipe().parallel)) continue;
    made.push_back(strategy.make(shared));
    shared.m.observe(*made.back());
  }
  return made;
}

}  // namespace plimsoll::parallel
