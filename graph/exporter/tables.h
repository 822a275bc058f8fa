// Arrays that modules hold and nobody trains, told by who reads them: masks, positions,
// coordinates.
#pragma once

#include <vector>

#include "graph/ir/graph.h"
#include "graph/ir/weight_role.h"

namespace plimsoll {

// Makes those of `kinds` that are trained by their names buffers: a table that multiplies nothing
// but positions, as rotary frequencies do; one that a layer takes as its data, as Swin v2 does its
// coordinates (a matrix there may be one factor of a weight); masks that are compared or laid on a
// weight. Cost: linear in the graph.
void find_tables(const Graph& graph, std::vector<WeightRole>& kinds);

}  // namespace plimsoll
