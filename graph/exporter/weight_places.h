// Where layers read their weights.
#pragma once

#include <cstddef>
#include <string_view>

#include "graph/ir/graph.h"

namespace plimsoll {

// Layers that multiply by a weight: convolutions, matrix products, recurrent layers.
bool multiplies_by_weight(const Node& node);

// The module whose code a node is of. Without a list of calls names are made of scopes,
// where a second call of "proj" is "proj_1": as such a name tells no more, neither does this.
std::string_view module_called(const Node& node);

// The same elements in another shape or type.
bool is_view(const Node& node);

// Consecutive numbers, which places are counted by.
bool is_range(const Node& node);

// The parameter that a layer reads, itself or through one view: exporters reshape a weight of three
// dimensions to a matrix.
TensorId behind_view(const Graph& graph, TensorId tensor);

// The tensor that `tensor` is a view of, through at most eight views; itself where it is none.
TensorId behind_views(const Graph& graph, TensorId tensor);

// More than one element, all along one axis: a number for each channel or head, [C], [C, 1, 1],
// [1, C, 1, 1].
bool is_along_one_axis(const Tensor& tensor);

// The other of a node's first two inputs.
TensorId beside(const Node& node, TensorId one);

}  // namespace plimsoll
