// A network over sequences of which each rank along Axis::kContext has a part: whatever a token has
// is of the rank's tokens alone, and attention sees the others' keys and values
// (graph/eager/context_attention.h).
#pragma once

#include <string>

#include "graph/base/diagnostic.h"
#include "graph/ir/graph.h"
#include "graph/ir/recipe.h"

namespace plimsoll::parallel {

// The symbol that all attention of the graph has as the length of its queries and keys; empty where
// there is no attention, or its length is no symbol or not the same. Cost: linear in the graph.
std::string sequence_symbol(const Graph& graph);

// The graph with shapes of one rank's part. `symbol`: of the sequence.
Graph with_context(Graph graph, const std::string& symbol, int64_t ranks);

// E120 where the plan's ranks cannot share sequences: attention that is none of a kernel's, or
// limited by a mask; a length, or heads, that ranks do not divide, with the nearest number that
// does. A position that sees those before it alone wants two parts a rank
// (torch/distributed/tensor/experimental/_context_parallel/_load_balancer.py).
Result<void> check_context(const Graph& graph, const Recipe& recipe, const Policy& policy,
                           Decider& decider);

}  // namespace plimsoll::parallel
