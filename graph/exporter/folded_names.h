// What exporters call the results that they folded: "val_7", "unsqueeze_14", "onnx::Mul_12". Nobody
// trains these, whereas what the network's author named may be a parameter.
#pragma once

#include <set>
#include <string_view>

#include "graph/ir/graph.h"

namespace plimsoll {

// Names of a graph's parameters that were folded; they live as long as the graph. The first of a
// kind has no number: "zeros" stands before "zeros_1". Where the second was not folded, whole
// numbers may be a part of a buffer that only looks like it. Cost: linear in the tensors.
std::set<std::string_view> folded_names(const Graph& graph);

// "conv1.bias", "cls_token": what people call parameters, and modules those they have.
// `by_pytorch`: every name with a dot is of a module. (A file's other names are of values:
// "/layer1/Mul_output_0".)
bool is_parameter_name(std::string_view name, bool by_pytorch);

}  // namespace plimsoll
