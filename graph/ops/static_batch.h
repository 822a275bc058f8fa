// A batch that was baked into the file as a constant b0 and made a symbol again in the inputs:
// constants further on that carry b0 are stretched to the symbol. Nothing here does anything for
// graphs without Graph::baked_batch.
#pragma once

#include "graph/ops/op_row.h"

namespace plimsoll::ops {

// Whether an extent depends on the batch made a symbol again.
bool carries_batch(InferContext& c, const Dim& d);

// Whether an extent carries the batch, and was this constant in the file.
bool was_batch(InferContext& c, const Dim& constant, const Dim& extent);

// The target of a Reshape with zeros already replaced; -1 stays. Where the tensor carries the batch
// and the target does not, the target extent at the batch's place, or else the first one that b0
// divides, is scaled by batch / b0.
std::vector<Dim> stretch_target(InferContext& c, const Shape& from, std::vector<Dim> target);

// Shapes for broadcasting or joining: a constant that was the extent it meets becomes it.
std::pair<Shape, Shape> rebatch_operands(InferContext& c, const Shape& a, const Shape& b);

// The leading extent of Tile or ConstantOfShape where it is b0 > 1: the batch.
void rebatch_leading(InferContext& c, std::vector<Dim>& extents);
// The same of Expand. In a file of one sample what is expanded to what it is was expanded to the
// batch: token.expand(x.shape[0], -1, -1).
void rebatch_expanded(InferContext& c, std::vector<Dim>& extents);

// Whether extents, or the first of several, are what Shape said or computed from it: those have the
// batch already where they are one.
bool is_of_shape(const Graph& graph, TensorId extents);

}  // namespace plimsoll::ops
