// When a framework lets go of a forward value: after its last reader; eager code not before every
// call that was given it as an argument has returned.
#pragma once

#include <span>
#include <vector>

#include "graph/ir/graph.h"

namespace plimsoll {

// For each node the values that nobody holds once it has run; what is `returned` is in no list.
// A call is a run of nodes in one module, as exporters write it into names
// ("/layer1/layer1.0/conv1/ Conv", or Node::module): its caller holds what it passed in until the
// module's last node has run. A residual block's input, say, lives until the block ends, whoever
// reads it last. What the called code's own names hold is read from its statements where the
// exporter lists them (HeldNames), follows from a loop's turns where there is one (loop_turns.h),
// and is guessed from who reads it when elsewhere. Without names
// (`names_hold` false) a graph is run, not code. Cost: linear in nodes times the depth of modules.
std::vector<std::vector<TensorId>> last_uses(const Graph& graph, std::span<const TensorId> returned,
                                             bool names_hold);

}  // namespace plimsoll
