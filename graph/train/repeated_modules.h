// Repeated modules: the blocks that a network is made of, as its nodes' module paths tell
// ("layer1.0", "encoder.layer.11"): what people checkpoint.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/graph.h"

namespace plimsoll {

struct ModuleRange {
  std::string module;
  NodeId first = 0, last = 0;  // nodes [first, last)
};

// The outermost numbered modules with modules inside, below `path` ("": in the whole graph), in the
// graph's order; where there is none, the module `path` itself. Ranges do not overlap. Empty where
// nothing is called so. Cost: linear in nodes.
std::vector<ModuleRange> modules_below(const Graph& graph, std::string_view path);

}  // namespace plimsoll
