// LayerParts: what ranks along Axis::kTensor share of a network's layers; here of its first and
// last ones: of the table of tokens each has some words, and of the head some scores (Shoeybi et
// al., arXiv:1909.08053, 3).
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "graph/ir/graph.h"
#include "graph/ir/parallel_plan.h"

namespace plimsoll::parallel {

struct LayerParts {
  std::map<TensorId, Placement> weights;
  std::map<TensorId, size_t> values;  // the dimension of which a rank has its part
  std::set<NodeId> begins;            // read what all ranks have, and make a part
  std::set<NodeId> ends;              // what they make is a sum over ranks
};

// Of a dense layer, dense_matrix(), of whose outputs each rank makes its part: its matrix, offsets
// and what it makes.
LayerParts parts_of_layer(const Graph& graph, NodeId id);

// The table that tokens pick rows of, the layer that makes outputs of the network, and what scales,
// caps or shifts these one by one after it. `values` are parts already. Cost: linear in the graph.
LayerParts split_words(const Graph& graph, int64_t ranks, const std::map<TensorId, size_t>& values);

}  // namespace plimsoll::parallel
