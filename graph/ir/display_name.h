// What a node is called in tables and messages.
#pragma once

#include <string>

#include "graph/ir/graph.h"

namespace plimsoll {

// Its module, its name, or "node 17 (Conv)"; "(loss)" for none.
std::string display_name(const Graph& graph, NodeId node);

}  // namespace plimsoll
