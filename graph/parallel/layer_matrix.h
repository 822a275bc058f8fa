// LayerMatrix: the initializer that a dense layer multiplies by, and which of its dimensions are of
// inputs and of outputs. Its id is kNoTensor where the node is no such layer.
#pragma once

#include "graph/ir/graph.h"

namespace plimsoll::parallel {

struct LayerMatrix {
  TensorId id = kNoTensor;
  size_t inputs = 0, outputs = 0;
};

// [out, in] or [in, out].
LayerMatrix dense_matrix(const Graph& graph, NodeId node);

// Matrices that stand one behind the other in one initializer, of experts: [experts, out, in] or
// [experts, in, out], read as it is or through a view that exchanges the last two dimensions.
LayerMatrix stacked_matrix(const Graph& graph, NodeId node);

}  // namespace plimsoll::parallel
