// widen_softmax(): softmaxes in single precision, as PyTorch's older exporter writes them.
#pragma once

#include <cstddef>

#include "graph/ir/graph.h"

namespace plimsoll {

// softmax(x, dtype=torch.float32) is a Softmax and a Cast behind it, although it is x that is cast:
// a result in single precision is what backward keeps. Such ones, which a second Cast takes back
// (`.to(query.dtype)`), get the cast in front too; returns how many. `graph` must have been
// inferred. Cost: linear.
size_t widen_softmax(Graph& graph);

}  // namespace plimsoll
