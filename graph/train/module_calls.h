// The calls of modules that were running when a node was, as exporters write them into names
// ("/layer1/layer1.0/conv1/Conv", or Node::module).
#pragma once

#include <string_view>
#include <vector>

#include "graph/ir/graph.h"

namespace plimsoll {

// The modules whose code was running, outermost first. A name like a path lists just those; a
// dotted module path lists containers too, which are no calls: "layer.0" is one.
std::vector<std::string_view> calls_around(const Node& node);

// Those of a dotted module path.
std::vector<std::string_view> calls_of(std::string_view module);

// The same as one text.
std::string_view call_path(const Node& node);

// For each node the last one of the call whose code it is. Cost: linear in the graph.
std::vector<NodeId> ends_of_calls(const Graph& graph);

}  // namespace plimsoll
