// strategies: what a parallel plan asks for, as observers of a step. A way to share a model's
// training is a row of strategies.cc and a class that is told where a step comes to.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "graph/eager/machine.h"
#include "graph/ir/graph.h"
#include "graph/parallel/placements.h"

namespace plimsoll::parallel {

// What strategies share: all outlives them.
struct Shared {
  eager::Machine& m;
  const Graph& graph;
  const Placements& placements;
  std::span<const eager::Value> values;  // of the graph's tensors
};

// The strategies of the recipe's plan, which observe the machine from now on, in their order. They
// hold values: they must go before the step is finished.
std::vector<std::unique_ptr<eager::Observer>> strategies(const Shared& shared);

}  // namespace plimsoll::parallel
