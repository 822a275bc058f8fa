#include "graph/parallel/split_weights.h"

#include <vector>

#include "graph/ops/op_row.h"

namespace plimsoll::parallel {

std::map<TensorId, Placement> split_weights(const Graph& graph) {
  std::vector<int> readers(graph.tensors.size(), 0);
  for (const Node& node : graph.nodes) {
    for (const TensorId in : node.inputs) {
      if (in != kNoTensor) ++readers[in];
    }
  }
  const auto is_own = [&](TensorId id, size_t rank) {
    const Tensor& t = graph.tensors[id];
    return t.kind == TensorKind::kParameter && t.shape && t.shape->size() == rank &&
           readers[id] == 1;
  };
  std::map<TensorId, Placement> split;
  for (const Node& node : graph.nodes) {
    if (!has(node, OpRow::kDense) || node.inputs.size() < 2 || !is_own(node.inputs[1], 2)) continue;
    const bool outputs_first =
        has(node, OpRow::kOutputsFirst) || node.attributes.integer("transB", 0) != 0;
    const size_t dimension = outputs_first ? 0 : 1;
    if (node.inputs.size() > 2 && node.inputs[2] != kNoTensor) {
      if (!is_own(node.inputs[2], 1)) continue;
      const Shape& bias = *graph.tensors[node.inputs[2]].shape;
      if (bias[0] != (*graph.tensors[node.inputs[1]].shape)[dimension]) continue;
      split[node.inputs[2]] = {Axis::kData, 0};
    }
    split[node.inputs[1]] = {Axis::kData, dimension};
  }
  return split;
}

}  // namespace plimsoll::parallel
