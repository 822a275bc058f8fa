// What attention reads, as far as ranks can share it by heads.
#pragma once

#include <span>

#include "graph/ir/graph.h"

namespace plimsoll::parallel {

// Queries, keys and values of attention, the operands of the products that it is made of, or those
// of a gated delta rule; none of another node. Cost: constant.
std::span<const TensorId> attended(const Graph& graph, NodeId id);

// Does a norm of all that the layer makes follow it, before it is shown as heads? Cost: constant.
bool is_normed_whole(const Graph& graph, const Consumers& readers, NodeId layer);

// Of no sample: numbers that are known, and what tables have of them, such as a bias of distances.
// Cost: linear in what makes it.
bool is_of_positions(const Graph& graph, TensorId id);
bool is_rows_of_table(const Graph& graph, const Node& node);

}  // namespace plimsoll::parallel
