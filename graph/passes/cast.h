// cast(): what model.half() or model.double() do to a model in single precision.
#pragma once

#include "graph/graph.h"

namespace plimsoll {

// Gives every fp32 tensor another floating type: parameters, statistics, inputs and values. Shapes
// and contents stay. Cost: linear.
void cast(Graph& graph, DType to);

}  // namespace plimsoll
