#include "graph/parallel/strategies.h"

#include <array>
#include <utility>

#include "graph/parallel/buffered_gradients.h"
#include "graph/parallel/data_parallel.h"
#include "graph/parallel/expert_parallel.h"
#include "graph/parallel/flat_sharded.h"
#include "graph/parallel/host_states.h"
#include "graph/parallel/sharded.h"
#include "graph/parallel/split_layer.h"
#include "graph/parallel/summed.h"
#include "graph/parallel/tensor_parallel.h"
#include "graph/parallel/unit.h"
#include "graph/parallel/zero.h"
#include "graph/parallel/zero_weights.h"

namespace plimsoll::parallel {
namespace {

using ObserverRef = std::unique_ptr<eager::Observer>;

bool has(const ParallelPlan& plan, Axis axis) { return plan.mesh.extent(axis) > 1; }

bool splits(const ParallelPlan& plan) { return plan.splits_layers && has(plan, Axis::kData); }

bool shards_by(const ParallelPlan& plan, ShardedBy library) {
  return plan.is_sharded() && plan.sharded_by == library;
}

// Whether whole gradients are summed, by nobody else.
bool sums(const ParallelPlan& plan) {
  if (buffers_gradients(plan)) return false;
  const bool by_sharding =
      plan.sharded >= Sharded::kGradients || plan.sharded_by == ShardedBy::kZero;
  return !(plan.is_sharded() && by_sharding) && !sums_of(plan).empty();
}

template <class Observer>
ObserverRef over_blocks(const Shared& s) {
  std::vector<Unit> units = units_below(s.graph, "");
  const Unit around = find_weights(s.graph, units);
  return std::make_unique<Observer>(s.m, units, around, s.values, s.placements.computed);
}

// A loss that makes scores of one part after the other goes back through each.
int64_t times_back_through_head(const Recipe& recipe) {
  const bool by_parts =
      recipe.loss == Loss::kCausalLm && recipe.loss_form == LossForm::kChunkedLinear;
  return by_parts ? recipe.loss_chunks : 1;
}

struct Strategy {
  bool (*applies)(const ParallelPlan& plan);
  ObserverRef (*make)(const Shared& shared);  // null where the mode has nothing of it
};

constexpr std::array kStrategies = {
    Strategy{[](const ParallelPlan& plan) { return has(plan, Axis::kTensor); },
             [](const Shared& s) -> ObserverRef {
               return std::make_unique<TensorParallel>(s.m, s.graph, s.placements.split);
             }},
    Strategy{[](const ParallelPlan& plan) { return has(plan, Axis::kExpert); },
             [](const Shared& s) -> ObserverRef {
               return std::make_unique<ExpertParallel>(s.m, s.placements.experts);
             }},
    Strategy{splits,
             [](const Shared& s) -> ObserverRef {
               return std::make_unique<SplitLayers>(s.m, s.graph, s.placements.computed);
             }},
    Strategy{sums,
             [](const Shared& s) -> ObserverRef { return std::make_unique<DataParallel>(s.m); }},
    Strategy{buffers_gradients,
             [](const Shared& s) -> ObserverRef {
               if (s.m.recipe().mode == Mode::kInference) return nullptr;
               return std::make_unique<BufferedGradients>(s.m, s.graph, s.values);
             }},
    Strategy{[](const ParallelPlan& plan) { return plan.offload.states && !plan.is_sharded(); },
             [](const Shared& s) -> ObserverRef {
               if (s.m.recipe().mode == Mode::kInference) return nullptr;
               return std::make_unique<HostStates>(s.m);
             }},
    Strategy{[](const ParallelPlan& plan) { return shards_by(plan, ShardedBy::kFsdp2); },
             [](const Shared& s) { return over_blocks<ShardedTraining>(s); }},
    Strategy{[](const ParallelPlan& plan) { return shards_by(plan, ShardedBy::kFsdp1); },
             [](const Shared& s) { return over_blocks<FlatTraining>(s); }},
    Strategy{[](const ParallelPlan& plan) {
               return shards_by(plan, ShardedBy::kZero) && plan.sharded < Sharded::kWeights &&
                      !buffers_gradients(plan);
             },
             [](const Shared& s) -> ObserverRef { return std::make_unique<ZeroTraining>(s.m); }},
    Strategy{[](const ParallelPlan& plan) {
               return shards_by(plan, ShardedBy::kZero) && plan.sharded == Sharded::kWeights;
             },
             [](const Shared& s) -> ObserverRef {
               std::vector<Unit> units = readers_of_weights(s.graph);
               const Unit around = find_weights(s.graph, units);
               const Recipe& recipe = s.m.recipe();
               const bool again = recipe.checkpoint != "none";
               std::vector<size_t> trace = trace_of(units, units_below(s.graph, ""), again,
                                                    times_back_through_head(recipe));
               return std::make_unique<ZeroWeights>(s.m, units, around, std::move(trace), s.values);
             }}};

}  // namespace

std::vector<ObserverRef> strategies(const Shared& shared) {
  std::vector<ObserverRef> made;
  for (const Strategy& strategy : kStrategies) {
    if (!strategy.applies(shared.m.recipe().parallel)) continue;
    ObserverRef one = strategy.make(shared);
    if (!one) continue;
    made.push_back(std::move(one));
    shared.m.observe(*made.back());
  }
  return made;
}

}  // namespace plimsoll::parallel
