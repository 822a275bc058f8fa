// What a graph computes from shapes and constants alone: positions, masks, scales.
#pragma once

#include <vector>

#include "graph/ir/graph.h"

namespace plimsoll {

// For each tensor whether it is the same whatever the inputs hold and whatever has been trained:
// float parameters are not, unless they stood in the file as constants. `besides`: tensors that are
// taken to be so too. Cost: linear.
std::vector<char> input_independent(const Graph& graph, std::vector<char> besides = {});

}  // namespace plimsoll
