// ExpertLayer: gated MLPs of which each row runs through some, as products over matrices that stand
// one behind the other in one parameter, [experts, out, in] or [experts, in, out].
#pragma once

#include <set>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/parallel/unit.h"

namespace plimsoll::parallel {

struct ExpertLayer {
  NodeId first_product = 0, last_product = 0;
  NodeId last = 0;              // the node that makes what the layer returns
  std::set<NodeId> reads = {};  // nodes whose first input is what the layer is given
};

// Those of a unit, in its order: two products in one module, and all that stands there with them.
// Cost: linear in the unit for each of its layers.
std::vector<ExpertLayer> expert_layers(const Graph& graph, const Unit& unit);

}  // namespace plimsoll::parallel
