// Which weights of a network are split over devices: those of fully connected layers, by outputs.
#pragma once

#include <map>

#include "graph/ir/graph.h"

namespace plimsoll {

// By weight and bias, which of its dimensions is the layer's outputs. None of a layer that shares
// its weight with another, or whose bias is no row of outputs. Cost: linear in the graph.
std::map<TensorId, size_t> split_weights(const Graph& graph);

}  // namespace plimsoll
