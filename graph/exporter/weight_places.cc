#include "graph/exporter/weight_places.h"

#include <algorithm>
#include <string_view>

#include "graph/ops/op_row.h"

namespace plimsoll {

bool multiplies_by_weight(const Node& node) {
  return has_any(node, OpRow::kDense | OpRow::kConvolutional | OpRow::kOverTime);
}

std::string_view module_called(const Node& node) {
  const std::string_view module = node.module;
  const size_t digits = module.find_last_not_of("0123456789");
  const bool counted = digits != module.npos && digits + 1 < module.size() && module[digits] == '_';
  return counted && node.notes.calls.empty() ? module.substr(0, digits) : module;
}

bool is_view(const Node& node) { return has_any(node, OpRow::kView | OpRow::kConversion); }

bool is_range(const Node& node) { return node.op == "Range" && node.domain.empty(); }

TensorId behind_view(const Graph& graph, TensorId tensor) {
  const NodeId maker = graph.tensors[tensor].producer;
  const bool view = maker != kNoNode && has(graph.nodes[maker], OpRow::kView);
  return view ? graph.nodes[maker].inputs[0] : tensor;
}

TensorId behind_views(const Graph& graph, TensorId tensor) {
  for (int steps = 0; steps < 8; ++steps) {
    const NodeId maker = graph.tensors[tensor].producer;
    if (maker == kNoNode || !is_view(graph.nodes[maker])) break;
    tensor = graph.nodes[maker].inputs[0];
  }
  return tensor;
}

bool is_along_one_axis(const Tensor& tensor) {
  if (!tensor.shape) return false;
  const auto is_one = [](const Dim& extent) { return extent == Dim(1); };
  return std::count_if(tensor.shape->begin(), tensor.shape->end(), is_one) + 1 ==
         static_cast<std::ptrdiff_t>(tensor.shape->size());
}

TensorId beside(const Node& node, TensorId one) {
  if (node.inputs.size() != 2) return kNoTensor;
  return node.inputs[node.inputs[0] == one ? 1 : 0];
}

}  // namespace plimsoll
