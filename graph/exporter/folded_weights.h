// Weights that an exporter of graphs folded: it writes them in the shape that their reader sees.
#pragma once

#include <set>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/ir/weight_role.h"

namespace plimsoll {

// Makes those of `kinds` that are constants by their names, but used as weights are, trained. Cost:
// linear in the graph.
void find_folded_weights(const Graph& graph, std::vector<WeightRole>& kinds);

// Numbers that an exporter computed of a module's own (CLIP's exp of its logit_scale): each is
// called after the operator, and the module lacks a parameter for each. Cost: linear in the graph.
std::set<TensorId> folded_numbers(const Graph& graph);

}  // namespace plimsoll
