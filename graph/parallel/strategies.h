// strategies: what a parallel plan asks for, as observers of a step. A way to share a model's
// training is a row of strategies.cc and a class that is told where a step comes to.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "graph/eager/machine.h"
#include "graph/ir/graph.h"
#include "graph/ir/weight_role.h"
#include "graph/parallel/expert_split.h"
#include "graph/parallel/tensor_split.h"

namespace plimsoll::parallel {

// Weights of which a device has a part alone, and where that is.
struct Placements {
  std::map<TensorId, Placement> computed;  // operators use this device's part
  TensorSplit split;                       // ... and make a part of their results
  ExpertSplit experts;                     // ... of layers of experts
  std::map<TensorId, Shape> kept;          // they use the whole, of which the device keeps so much
};

// `roles`: of the graph's tensors; `received`: of another stage. Cost: linear in the graph.
Placements place_weights(const Graph& graph, const std::vector<WeightRole>& roles,
                         const ParallelPlan& plan, const std::vector<TensorId>& received = {});

// What strategies share: all outlives them.
struct Shared {
  eager::Machine& m;
  const Graph& graph;
  const Placements& placements;
  std::span<const eager::Value> values;  // of the graph's tensors
};

// The strategies of the recipe's plan, which observe the machine from now on, in their order. They
// hold values: they must go before the step is finished.
std::vector<std::unique_ptr<eager::Observer>> strategies(const Shared& shared);

}  // namespace plimsoll::parallel
