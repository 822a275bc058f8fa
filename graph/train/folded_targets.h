// Arrays that code fills before it writes into them, and that an exporter folded.
#pragma once

#include <map>
#include <vector>

#include "graph/exporter/weight_roles.h"
#include "graph/ir/graph.h"

namespace plimsoll {

// The arrays that are made before a node runs. What a scatter writes into, `zeros` of
//   zeros.index_add(0, at, x[i] * w)
// is made before the other operands of its statement: Python evaluates from left to right, and a
// name is from an earlier statement still. Nothing of files that list no statements. Cost: linear
// in the nodes; with such an array, that of HeldNames.
std::map<NodeId, std::vector<TensorId>> folded_targets(const Graph& graph,
                                                       const std::vector<WeightRole>& kinds);

}  // namespace plimsoll
