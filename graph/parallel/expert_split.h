// ExpertSplit: which layers of experts the ranks along Axis::kExpert share: each rank has the
// matrices of some experts, and all tokens of these ranks that choose them (GShard: Lepikhin et
// al., arXiv:2006.16668).
#pragma once

#include <map>
#include <set>

#include "graph/base/diagnostic.h"
#include "graph/ir/graph.h"
#include "graph/ir/recipe.h"

namespace plimsoll::parallel {

struct ExpertSplit {
  std::map<TensorId, Placement> weights;  // of matrices and offsets, the experts
  std::set<NodeId> begins, ends;          // first and last products over experts of a layer
  int64_t experts = 0;                    // of a layer, the fewest
  size_t adapted = 0;                     // products whose matrices have adapters, of no part
};

// By products over matrices of groups that stand in one module. Cost: linear in the graph.
ExpertSplit split_experts(const Graph& graph);

// E120 where the network has no experts, or as many that the ranks do not divide them, with the
// nearest number that does, and where adapters of experts would be split, which no program does.
Result<void> check_experts(const ExpertSplit& split, const Recipe& recipe);

}  // namespace plimsoll::parallel
