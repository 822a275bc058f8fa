// How many nodes each graph of a file becomes, counted before any of them is written out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/onnx/model.h"

namespace plimsoll::onnx {

class Functions {
 public:
  explicit Functions(const ModelSpec& model);
  // The function a node calls, or null where it is an operator.
  const FunctionSpec* called_by(const NodeSpec& node) const;

 private:
  std::unordered_map<std::string, const FunctionSpec*> by_key_;
};

// For each graph the nodes it becomes when its subgraphs are written out once, saturating; 0 for
// graphs the model's own does not reach. E224 where a function calls itself.
Result<std::vector<int64_t>> count_expanded(const ModelSpec& model, const Functions& functions);

}  // namespace plimsoll::onnx
