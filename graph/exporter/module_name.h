// Which module of the user's program a node came from, as far as an exporter says.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "graph/base/limits.h"

namespace plimsoll::onnx {

// From a node's name made of scopes: "/layer1/layer1.0/conv1/Conv" is "layer1.0.conv1". Empty where
// the name has no scopes.
std::string module_from_node_name(std::string_view name);

// From the list that PyTorch's exporter of 2.5 and later writes beside a node:
// "['', 'layer1', 'layer1.0', 'layer1.0.conv1', 'conv2d']" is "layer1.0.conv1".
std::string module_from_scopes(std::string_view list);

// All modules of that list: "/layer1/layer1.0/layer1.0.conv1"; "/" for the model's own code.
std::string calls_from_scopes(std::string_view list);

// What a module holds, by path, as torch.export's signature lists it beside a graph.
struct ModuleSignature {
  std::set<std::string, std::less<>> parameters, buffers;
  std::set<std::string, std::less<>> frozen{};  // parameters that want no gradient
  bool complete = false;                        // nothing else is a parameter or a buffer
};

// "table" of "b_table: BUFFER target='table' persistent=True", and so for "PARAMETER".
ModuleSignature module_signature(std::string_view text);

// A number that a module trains (CLIP's logit_scale): one that its signature lists. TorchScript,
// whose values are called after modules ("/net/Exp_output_0": `by_paths`), lists none: there it is
// one of a name of the module's own.
bool is_scalar_parameter(std::string_view name, const ModuleSignature& module, bool by_paths);

// The complete one that Plimsoll's own from_torch() writes, {"parameters": [...], "frozen": [...],
// "buffers": [...]}; nothing where the text is something else.
std::optional<ModuleSignature> module_state(std::string_view text, const Limits& limits);

}  // namespace plimsoll::onnx
