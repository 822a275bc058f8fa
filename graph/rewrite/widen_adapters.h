// widen_adapters(): the cast before each of peft's adapters, where an exporter has dropped it.
#pragma once

#include <cstddef>

#include "graph/ir/graph.h"

namespace plimsoll {

// A low-rank adapter reads its layer's input in its own weight's type, before its dropout
// (tuners/lora/layer.py, Linear.forward: _cast_input_dtype). In single precision that changes
// nothing and no exporter writes it; in mixed precision what was in 16 bits is widened, and
// narrowed anew for the adapter's product, which keeps a copy of its own. Adapters are known by
// their weights' names ("q_proj.lora_A.default.weight"). Returns how many were given their cast.
// `graph` must have been inferred and recovered. Cost: linear.
size_t widen_adapters(Graph& graph);

}  // namespace plimsoll
