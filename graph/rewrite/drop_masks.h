// Masks of chance that are in a file of a training graph and that a pass without dropout does not
// apply: stochastic depth, which drops a residual branch of a sample.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/ir/graph.h"

namespace plimsoll {

// x * mask becomes x, where a mask is a Bernoulli draw, or a uniform one that is compared with a
// number or rounded down, with what scales it (torchvision/ops/stochastic_depth.py,
// timm/layers/drop.py: x * bernoulli(keep) / keep). Random numbers that are no masks stay. Cost: a
// few visits per node.
struct DroppedMasks {
  size_t masks = 0;
  std::vector<NodeId> new_ids;  // for each node of before its id, or kNoNode
};
DroppedMasks drop_masks(Graph& graph);

}  // namespace plimsoll
