// The graph's inputs: their types, and which of their extents are symbols.
#pragma once

#include "graph/ir/graph.h"
#include "graph/onnx/import_options.h"
#include "graph/onnx/model.h"

namespace plimsoll::onnx {

// Adds a tensor for each input that no initializer has the name of, in order, and sets the graph's
// inputs, batch symbol, baked batch and defaults. Codes: see import_onnx.
//
// A named extent becomes the symbol of that name, the same everywhere; "2*s0" a product; an unknown
// one INPUT_dimK, or the batch if it is the first. Where all first extents are one constant, that
// is the batch, baked in. Inputs of rank 0 have no batch, and of rank 1 only a number of elements
// that equals it.
Result<void> add_inputs(const GraphSpec& main, const ImportOptions& options, Graph& graph,
                        Diagnostics& warnings);

}  // namespace plimsoll::onnx
