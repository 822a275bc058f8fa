// Which initializers of a graph are trained.
#pragma once

#include <vector>

#include "graph/ir/graph.h"
#include "graph/ir/weight_role.h"

namespace plimsoll {

// For each tensor; meaningful for kind kParameter only. Statistics of norms are buffers; float
// initializers are trained, unless an exporter's folding made them (its names say so) and neither a
// layer nor a sigmoid takes them as a weight nor features are scaled by them, channel by channel;
// tables that multiply positions, or that a layer takes as its data, are buffers; results that an
// exporter folded are computed; weights that the model says are frozen are so; the rest are
// constants.
std::vector<WeightRole> classify_parameters(const Graph& graph);
// For each tensor whether it is a parameter that no step changes; `kinds` as above.
std::vector<char> untrained(const Graph& graph, const std::vector<WeightRole>& kinds);

}  // namespace plimsoll
