#include "graph/parallel/attention_reads.h"

#include <algorithm>

#include "graph/ops/op_row.h"
#include "graph/parallel/layer_matrix.h"

namespace plimsoll::parallel {

std::span<const TensorId> attended(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  const auto rank = [&](size_t i) {
    const TensorId in = i < node.inputs.size() ? node.inputs[i] : kNoTensor;
    return in != kNoTensor && graph.tensors[in].shape ? graph.tensors[in].shape->size() : 0;
  };
  const bool product =
      has(node, OpRow::kDense) && rank(1) > 2 && stacked_matrix(graph, id).id == kNoTensor;
  const bool over_time = has(node, OpRow::kOverTime) && rank(0) > 3;
  // What runs without autograd, as the indexer of sparse attention, every rank has whole.
  if (node.notes.no_grad || (!has(node, OpRow::kAttends) && !product && !over_time)) return {};
  constexpr size_t kQueriesKeysValues = 3;
  return std::span(node.inputs)
      .first(std::min(node.inputs.size(), product ? size_t{2} : kQueriesKeysValues));
}

bool is_normed_whole(const Graph& graph, const Consumers& readers, NodeId layer) {
  bool normed = false;
  TensorId made = graph.nodes[layer].outputs[0];
  while (readers[made].size() == 1) {
    const Node& reader = graph.nodes[readers[made].front()];
    if (has(reader, OpRow::kView)) return normed;
    if (graph.tensors[reader.outputs[0]].shape != graph.tensors[made].shape) return false;
    if (has(reader, OpRow::kNorm)) normed = true;
    made = reader.outputs[0];
  }
  return false;
}

bool is_of_positions(const Graph& graph, TensorId id) {
  const Tensor& t = graph.tensors[id];
  if (t.contents || t.has_dims) return true;
  if (t.producer == kNoNode) return false;
  const Node& maker = graph.nodes[t.producer];
  const size_t table = is_rows_of_table(graph, maker) ? 1 : 0;
  return std::ranges::all_of(std::span(maker.inputs).subspan(table), [&](TensorId in) {
    return in == kNoTensor || is_of_positions(graph, in);
  });
}

bool is_rows_of_table(const Graph& graph, const Node& node) {
  return has(node, OpRow::kPicksByIndex) && !node.inputs.empty() &&
         graph.tensors[node.inputs[0]].kind == TensorKind::kParameter;
}

}  // namespace plimsoll::parallel
