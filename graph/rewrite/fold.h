// fold(): what infer() could follow to known contents becomes a constant. Exporters write shape
// arithmetic as nodes; a framework does it on the host, in no time and without storage.
#pragma once

#include "graph/ir/graph.h"

namespace plimsoll {

// Drops every node all of whose outputs have known contents (Tensor::contents or dims), and nodes
// that fed only those; their outputs become values without a producer. Outputs of the graph stay,
// and what the device computes (NodeNotes::on_device).
// Returns how many nodes went. Node ids change, tensor ids do not. Cost: linear.
size_t fold(Graph& graph);

}  // namespace plimsoll
