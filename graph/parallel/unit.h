// Unit: a part of a network that is taken as one: nodes that follow each other, and the weights
// that they alone read. It is what people checkpoint, and whose weights are gathered together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/graph.h"

namespace plimsoll::parallel {

struct Unit {
  std::string module{};
  NodeId first = 0, last = 0;       // nodes [first, last)
  std::vector<TensorId> weights{};  // and other initializers, as they stand in the graph
};

// Repeated modules, the blocks that a network is made of, as its nodes' module paths tell
// ("layer1.0", "encoder.layer.11"): the outermost numbered modules with modules inside, below
// `path`
// ("": in the whole graph), in the graph's order; where there is none, the module `path` itself.
// Units do not overlap. Empty where nothing is called so. Cost: linear in nodes.
std::vector<Unit> units_below(const Graph& graph, std::string_view path);

// The units of a list of paths, "blocks.0,blocks.1" or "blocks.?", where a star stands for any
// characters and a question mark for one (graph/base/glob.h). Empty where one of them is nobody's.
// Cost: paths times nodes.
std::vector<Unit> units_called(const Graph& graph, std::string_view list);

// Fills in the weights of units that do not overlap, and returns the unit around them: all nodes,
// and the weights that none of the units has for itself. Cost: linear in the graph.
Unit find_weights(const Graph& graph, std::vector<Unit>& units);

// The unit that begins at the node; null where none does. Cost: logarithmic.
const Unit* unit_from(const std::vector<Unit>& units, NodeId first);

}  // namespace plimsoll::parallel
