// Which weights of a network are split over devices: those of fully connected layers, by outputs.
#pragma once

#include <map>

#include "graph/ir/graph.h"
#include "graph/ir/parallel_plan.h"

namespace plimsoll::parallel {

// Of each weight and bias the dimension of the layer's outputs, over Axis::kData. None of a layer
// that shares its weight with another, or whose bias is no row of outputs. Cost: linear in the
// graph.
std::map<TensorId, Placement> split_weights(const Graph& graph);

}  // namespace plimsoll::parallel
