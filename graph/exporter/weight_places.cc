#include "graph/exporter/weight_places.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "graph/base/among.h"
#include "graph/ops/op_row.h"

namespace plimsoll {

bool is_squashing(const Node& node) { return has(node, OpRow::kSquashing); }

bool multiplies_by_weight(const Node& node) {
  static constexpr std::array<std::string_view, 11> kOps = {
      "Bilinear", "Conv", "ConvTranspose", "MatMul",    "Gemm",         "Linear",
      "LSTM",     "GRU",  "RNN",           "Recurrent", "RecurrentCell"};
  return among(node.op, kOps);
}

bool is_weight_place(const Node& node, size_t input) {
  const bool reads_first =
      node.op == "Gather" || node.op == "GatherND" || node.op == "SpectralNorm";
  if (reads_first || is_squashing(node)) return input == 0;
  if (node.op == "PRelu") return input == 1;
  // A weight that is standardised at every step (NF-ResNets), folded to the shape a norm reads.
  if (node.op == "BatchNormalization" && input == 0) return true;
  // Lengths and first states lie between a recurrent layer's bias and its peepholes.
  if (has(node, OpRow::kRecurrent)) return (input >= 1 && input <= 3) || input == 7;
  if (node.op == "DeformConv") return input == 1 || input == 3;
  return input > 0 && (multiplies_by_weight(node) || has(node, OpRow::kNorm));
}

std::string_view module_called(const Node& node) {
  const std::string_view module = node.module;
  const size_t digits = module.find_last_not_of("0123456789");
  const bool counted = digits != module.npos && digits + 1 < module.size() && module[digits] == '_';
  return counted && node.notes.calls.empty() ? module.substr(0, digits) : module;
}

bool is_view(const Node& node) { return has(node, OpRow::kView) || node.op == "Cast"; }

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
