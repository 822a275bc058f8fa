// Weights that a file writes as nodes: paddle2onnx, spox and frozen scripts give them as Constant
// or ConstantOfShape, often behind a Reshape, or as the slices and stacks that a recurrent layer's
// gates are made of.
#pragma once

#include "graph/ir/graph.h"

namespace plimsoll {

// Marks what stands in a weight place beside data as Tensor::weight: a layer's weight and bias, a
// bias added to what a layer makes, the scale and shift of a norm, an embedding that inputs index;
// where a weight is computed at every step (weight norm, slices of one matrix), what it is made of.
// What is merely computed with (masks, scale factors, means and deviations of the input, extents,
// tables of positions) stays a constant. What PyTorch's exporters write as initializers is left as
// it is: their names tell more. For an inferred graph, before constants are folded; node ids
// change. Cost: linear in the graph.
void find_written_weights(Graph& graph);

}  // namespace plimsoll
