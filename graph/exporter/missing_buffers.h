// Buffers that a network holds and its file does not carry: counters of norms, tables that each
// layer has of its own, of which exporters write equal ones once.
#pragma once

#include <vector>

#include "graph/exporter/weight_roles.h"
#include "graph/ir/graph.h"

namespace plimsoll {

// One type for each; `kinds` as classify_parameters() gives them. Cost: linear in the graph.
std::vector<TensorType> missing_buffers(const Graph& graph, const std::vector<WeightRole>& kinds);

}  // namespace plimsoll
