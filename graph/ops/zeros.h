// Arrays of zeros, which exporters make where a layer has none.
#pragma once

#include "graph/ir/graph.h"

namespace plimsoll {

// Does every element hold 0, whatever the inputs are? A known zero, small or expanded, cast or seen
// in another shape. Cost: at most eight nodes back.
bool is_zeros(const Graph& graph, TensorId tensor);

}  // namespace plimsoll
