// cast(): what model.half() or model.double() do to a model in single precision.
#pragma once

#include <cstddef>

#include "graph/ir/graph.h"

namespace plimsoll {

// Gives every fp32 tensor another floating type: parameters, statistics, inputs and values. Shapes
// and contents stay. A model whose weights are in 16 bits already stays as it is.
//
// What a Cast of the file widens to fp32 stays so up to the next one, which goes back (as RMS norms
// and softmaxes compute), or to the end. Exporters write x.to(x.dtype) as a Cast too: one whose
// result meets the cast weights in a matrix product, which refuses mixed types, does nothing.
// The graph must have been inferred. Cost: linear, but for regions between casts that are long and
// overlap: each is followed for at most a few thousand tensors.
// `batch_norms_too`: else their weights and statistics stay in fp32.
void cast(Graph& graph, DType to, bool batch_norms_too = true);

// For mixed precision: casts of that last kind become Identity, for there, too, the type that they
// name is the one that their input has (`hidden_states.to(query.dtype)` behind attention). How many
// there were. Cost: as cast().
size_t drop_given_casts(Graph& graph);

}  // namespace plimsoll
