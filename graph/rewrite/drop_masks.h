// Masks of chance that are in a file of a training graph and that a pass without dropout does not
// apply: stochastic depth, which drops a residual branch of a sample.
#pragma once

#include <cstddef>

#include "graph/ir/graph.h"

namespace plimsoll {

// x * mask becomes x, where a mask is a Bernoulli draw, or a uniform one that is compared with a
// number or rounded down, with what scales it (torchvision/ops/stochastic_depth.py,
// timm/layers/drop.py: x * bernoulli(keep) / keep). Random numbers that are no masks stay. Returns
// how many; node ids change, tensor ids do not. Cost: a few visits per node.
size_t drop_masks(Graph& graph);

}  // namespace plimsoll
