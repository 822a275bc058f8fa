// Which parts of a network are checkpointed: they keep what they read, and compute the rest again
// in the backward pass.
#pragma once

#include <string>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/parallel/unit.h"

namespace plimsoll {

struct CheckpointedBlocks {
  std::vector<parallel::Unit> units = {};  // in the graph's order
  bool by_operator = false;                // results of products and attention are kept as well
};

// Of --checkpoint's text: "none", "blocks", "blocks/2" (every second), "operators" (all blocks,
// which keep results of products and attention), "mirror" as MXNet does, or a module's path.
// E261 where the graph has no such module. Cost: linear in nodes.
Result<CheckpointedBlocks> checkpointed_blocks(const Graph& graph, const std::string& which);

}  // namespace plimsoll
