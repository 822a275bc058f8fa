// What exporters call the results that they folded: "val_7", "unsqueeze_14", "onnx::Mul_12". Nobody
// trains these, whereas what the network's author named may be a parameter.
#pragma once

#include <set>
#include <string_view>

#include "graph/graph.h"

namespace plimsoll {

// Names of a graph's parameters that were folded; they live as long as the graph. The first of a
// kind has no number: "zeros" stands before "zeros_1". Where the second was not folded, whole
// numbers may be a part of a buffer that only looks like it. Cost: linear in the tensors.
std::set<std::string_view> folded_names(const Graph& graph);

}  // namespace plimsoll
