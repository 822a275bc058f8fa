// How a file's arrays came to be: authored, or folded by an exporter, which calls them "val_7",
// "unsqueeze_14", "onnx::Mul_12". Nobody trains these, whereas what the network's author named may
// be a parameter.
#pragma once

#include <string_view>

#include "graph/ir/graph.h"

namespace plimsoll {

// Of a file's producer, "pytorch 2.9".
Exporter exporter_of(std::string_view producer);

// Sets Tensor::origin and folded_by of an imported graph's parameters, by their names. The first of
// a kind has no number: "zeros" stands before "zeros_1". Where the second was not folded, whole
// numbers may be a part of a buffer that only looks like it. Cost: linear in the tensors.
void set_origins(Graph& graph);

// Whether a result is called after an operator of PyTorch's, as the newer exporter calls those that
// are of one: "clone", "clone_12".
bool is_called_after(std::string_view name, std::string_view op);

// Not one that exporters give to values and to what they computed: "logit_scale", but not "val_7",
// "/Exp_output_0", "123" or "clone".
bool is_authored_name(std::string_view name);

// "conv1.bias", "cls_token": what people call parameters, and modules those they have. Of PyTorch's
// exporters every name with a dot is of a module. (A file's other names are of values:
// "/layer1/Mul_output_0".)
bool is_parameter_name(std::string_view name, Exporter exporter);

}  // namespace plimsoll
