// Loops of the model's code, as exporters write them out: turn after turn the same operators, on
// the same weights.
#pragma once

#include <vector>

#include "graph/ir/graph.h"

namespace plimsoll {

// For each value that a loop's code surely has a name for, the last node at which that name holds
// it; kNoNode for all others. Such a name holds what the next turn reads (`h`, `c` of a cell), and
// the parts that one operator gives (`i, f, o, g = x.chunk(4)`): until the next turn assigns it
// anew or, behind the last one, until the code returns. What is read behind the loop may have lost
// its name there. Cost: linear in the graph, times the weights that are read more than once.
std::vector<NodeId> retained_by_turns(const Graph& graph);

}  // namespace plimsoll
