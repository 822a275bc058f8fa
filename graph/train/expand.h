// expand(): Graph + TrainingPlan + Recipe + Policy -> Step. Runs the forward model on eager Values,
// then the loss, the backward pass and the optimizer, and writes down every allocation and launch.
#pragma once

#include "graph/exporter/weight_roles.h"
#include "graph/ir/graph.h"
#include "graph/ir/recipe.h"
#include "graph/ir/step.h"
#include "graph/ir/training_plan.h"
#include "graph/parallel/placements.h"

namespace plimsoll {

struct Expansion {
  Step step;
  std::vector<WeightRole> weight_roles;
  parallel::Placements placements;  // of weights
  Diagnostics warnings;
};

// Which passes of micro-batches are written down: one of those that are alike, or all.
enum class Passes : uint8_t { kDistinct, kAll };

// `graph` must have been inferred. `decider` answers what depends on symbols, at its hints; its
// guards go into the step. E260 where the graph has no float output to take a loss of, E262
// where a rule of the recipe names no weight.
// Cost: linear in nodes, about a microsecond per event; micro-batches that are alike cost their
// allocations alone, where all wait for their backward passes, and nothing elsewhere.
Result<Expansion> expand(const Graph& graph, const TrainingPlan& plan, const Recipe& recipe,
                         const Policy& policy, Decider& decider,
                         Passes written = Passes::kDistinct);

}  // namespace plimsoll
