#include "graph/onnx/bindings.h"

#include <algorithm>
#include <memory>

namespace plimsoll::onnx {

Bindings bindings_of(const NodeSpec& call, const FunctionSpec& function) {
  Bindings bindings{function.defaults.attributes, {}};
  for (const auto& [name, value] : call.attributes.entries()) bindings.attributes.set(name, value);
  if (call.extras) bindings.tensors = call.extras->tensors;
  if (function.defaults.extras) {
    for (const auto& tensor : function.defaults.extras->tensors) bindings.tensors.push_back(tensor);
  }
  return bindings;
}

std::optional<NodeSpec> with_bindings(const Bindings* bindings, const NodeSpec& node) {
  if (!bindings || !node.extras || node.extras->references.empty()) return std::nullopt;
  NodeSpec bound{node.op,         node.domain, node.name,
                 node.module,     node.inputs, node.outputs,
                 node.attributes, node.notes,  std::make_unique<NodeExtras>(*node.extras)};
  bound.extras->references.clear();
  for (const auto& [name, reference] : node.extras->references) {
    const auto& entries = bindings->attributes.entries();
    const auto at = std::lower_bound(
        entries.begin(), entries.end(), reference,
        [](const auto& entry, const std::string& key) { return entry.first < key; });
    if (at != entries.end() && at->first == reference) bound.attributes.set(name, at->second);
    for (const auto& [key, value] : bindings->tensors) {
      if (key == reference) bound.extras->tensors.emplace_back(name, value);
    }
  }
  return bound;
}

}  // namespace plimsoll::onnx
