// Placements: which weights of a network a device has a part of alone, by its plan.
#pragma once

#include <map>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/ir/weight_role.h"
#include "graph/parallel/expert_split.h"
#include "graph/parallel/tensor_split.h"

namespace plimsoll::parallel {

struct Placements {
  std::map<TensorId, Placement> computed;  // operators use this device's part
  TensorSplit split;                       // ... and make a part of their results
  ExpertSplit experts;                     // ... of layers of experts
  std::map<TensorId, Shape> kept;          // they use the whole, of which the device keeps so much
};

// `roles`: of the graph's tensors; `received`: of another stage. Cost: linear in the graph.
Placements place_weights(const Graph& graph, const std::vector<WeightRole>& roles,
                         const ParallelPlan& plan, const std::vector<TensorId>& received);

}  // namespace plimsoll::parallel
