// What makes it doubtful that the weights found in a file are those that its training trains.
#pragma once

#include <vector>

#include "graph/exporter/weight_roles.h"
#include "graph/ir/graph.h"
#include "graph/rewrite/recover.h"

namespace plimsoll {

// One warning for each kind, which names the first place: W230 nothing is trained; W231 layers
// multiply by what is not trained; W232 convolutions run into an activation with neither bias nor
// norm, in a network whose other layers have them; W233 a quantised network; W234 modules that read
// one weight, or read one that was merged and is each one's own again (`report`); W235 no input has
// a batch. `graph` after recover(), `kinds` as the step trains them. Cost: linear in the graph.
Diagnostics weight_doubts(const Graph& graph, const std::vector<WeightRole>& kinds,
                          const RecoverReport& report);
// W230 alone, of a network that says itself what it means.
Diagnostics nothing_trained(const Graph& graph, const std::vector<WeightRole>& kinds);

}  // namespace plimsoll
