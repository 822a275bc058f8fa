// The attributes of a function's call, which stand where its nodes refer to them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/onnx/model.h"

namespace plimsoll::onnx {

struct Bindings {
  Attributes attributes;
  std::vector<std::pair<std::string, TensorSpec>> tensors;
};

// Of a call: its own attributes, else the function's defaults.
Bindings bindings_of(const NodeSpec& call, const FunctionSpec& function);

// A node of a function with the call's attributes in place of the names the function has for them;
// nothing where it has none, or no function is called (null).
std::optional<NodeSpec> with_bindings(const Bindings* bindings, const NodeSpec& node);

}  // namespace plimsoll::onnx
