#include "graph/parallel/layer_matrix.h"

#include <vector>

#include "graph/ops/op_row.h"

namespace plimsoll::parallel {
namespace {

LayerMatrix matrix_at(TensorId id, size_t first, bool outputs_first) {
  return outputs_first ? LayerMatrix{id, first + 1, first} : LayerMatrix{id, first, first + 1};
}

}  // namespace

LayerMatrix dense_matrix(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  if (!has(node, OpRow::kDense) || node.inputs.size() < 2) return {};
  const TensorId weight = node.inputs[1];
  const Tensor& t = graph.tensors[weight];
  if (t.kind != TensorKind::kParameter || !t.shape || t.shape->size() != 2) return {};
  return matrix_at(weight, 0,
                   has(node, OpRow::kOutputsFirst) || node.attributes.integer("transB", 0) != 0);
}

LayerMatrix stacked_matrix(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  if (!has(node, OpRow::kDense) || node.inputs.size() < 2) return {};
  TensorId weight = node.inputs[1];
  bool outputs_first = has(node, OpRow::kOutputsFirst);
  if (const NodeId maker = graph.tensors[weight].producer; maker != kNoNode) {
    const auto* perm = graph.nodes[maker].attributes.get<std::vector<int64_t>>("perm");
    if (!has(graph.nodes[maker], OpRow::kView) || !perm || *perm != std::vector<int64_t>{0, 2, 1})
      return {};
    weight = graph.nodes[maker].inputs[0];
    outputs_first = !outputs_first;
  }
  const Tensor& t = graph.tensors[weight];
  if (t.kind != TensorKind::kParameter || !t.shape || t.shape->size() != 3) return {};
  return matrix_at(weight, 1, outputs_first);
}

}  // namespace plimsoll::parallel
