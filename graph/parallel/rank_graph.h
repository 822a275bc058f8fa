// The graph of one rank along Axis::kTensor.
#pragma once

#include "graph/parallel/tensor_split.h"

namespace plimsoll::parallel {

// With shapes of one rank's values; weights keep theirs. Cost: linear in the split.
Graph with_parts(Graph graph, const TensorSplit& split, int64_t ranks);

}  // namespace plimsoll::parallel
