// Mirror: MXNet's way to recompute (MXNET_BACKWARD_DO_MIRROR). What costs little to compute is not
// kept but computed again in backward; convolutions, products and what draws random numbers are
// not.
#pragma once

#include <vector>

#include "graph/parallel/unit.h"

namespace plimsoll {

// The runs of such nodes, in the graph's order, each with the product behind it that reads its
// result. That product, the last to keep something, takes what the run makes and is not computed
// again; what a run reads is kept, where MXNet computes a shortcut again, too
// (src/executor/graph_executor.cc, need_mirror; its step of 100 nodes is left out). Cost: linear in
// nodes.
std::vector<parallel::Unit> mirrored_runs(const Graph& graph);

}  // namespace plimsoll
