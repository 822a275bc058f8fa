#include "graph/parallel/split_words.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/ops/op_row.h"
#include "graph/parallel/layer_matrix.h"
#include "graph/parallel/part.h"

namespace plimsoll::parallel {
namespace {

constexpr auto kOfEach =
    OpRow::kAddition | OpRow::kMultiplication | OpRow::kOfResult | OpRow::kConversion;

class Words {
 public:
  Words(const Graph& graph, int64_t ranks, const std::map<TensorId, size_t>& values)
      : graph_(graph), ranks_(ranks), values_(values) {}

  LayerParts run() {
    split_tables();
    for (const TensorId out : graph_.outputs) {
      std::vector<NodeId> after;  // the last one first
      const NodeId head = head_of(out, after);
      if (head == kNoNode || !begin_head(head)) continue;
      for (size_t i = after.size(); i-- > 0;) go_through(after[i]);
    }
    split_tables();  // those that a head shares, whose tokens something makes: Whisper's
    return std::move(split_);
  }

 private:
  const Shape& shape(TensorId id) const { return *graph_.tensors[id].shape; }
  bool has_shape(TensorId id) const { return id != kNoTensor && graph_.tensors[id].shape; }
  bool is_parameter(TensorId id) const { return graph_.tensors[id].kind == TensorKind::kParameter; }

  void split_tables() {
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      if (!picks_words(id)) continue;
      split_.weights[graph_.nodes[id].inputs[0]] = {Axis::kTensor, 0};
      split_.ends.insert(id);
    }
  }

  bool picks_words(NodeId id) const {
    const Node& node = graph_.nodes[id];
    if (!has(node, OpRow::kPicksByIndex) || node.inputs.empty()) return false;
    const TensorId table = node.inputs[0];
    return is_parameter(table) && has_shape(table) && shape(table).size() == 2 &&
           (graph_.tensors[node.inputs[1]].kind == TensorKind::kInput ||
            split_.weights.contains(table));
  }

  // The dense node that makes the scores, and those after it that take each score by itself.
  NodeId head_of(TensorId out, std::vector<NodeId>& after) const {
    NodeId id = graph_.tensors[out].producer;
    while (id != kNoNode && !has(graph_.nodes[id], OpRow::kDense)) {
      if (!is_of_each_score(id)) return kNoNode;
      after.push_back(id);
      id = graph_.tensors[graph_.nodes[id].inputs[0]].producer;
    }
    return id;
  }

  bool is_of_each_score(NodeId id) const {
    const Node& node = graph_.nodes[id];
    const TensorId in = node.inputs.empty() ? kNoTensor : node.inputs[0];
    if (!has_shape(in) || !has_shape(node.outputs[0]) || shape(in).empty() ||
        shape(in) != shape(node.outputs[0]) || !has_any(node, kOfEach))
      return false;
    return std::ranges::all_of(node.inputs, [&](TensorId other) {
      return other == in || !has_classes(other, shape(in).back()) || numbers_of(other) != kNoTensor;
    });
  }

  // The initializer that this is, or that one node shows as it is.
  TensorId numbers_of(TensorId id) const {
    if (is_parameter(id)) return id;
    const NodeId maker = graph_.tensors[id].producer;
    if (maker == kNoNode || graph_.nodes[maker].inputs.size() != 1) return kNoTensor;
    const TensorId from = graph_.nodes[maker].inputs[0];
    return is_parameter(from) && shape(from) == shape(id) ? from : kNoTensor;
  }

  bool has_classes(TensorId id, const Dim& classes) const {
    return has_shape(id) && !shape(id).empty() && shape(id).back() == classes;
  }

  bool begin_head(NodeId id) {
    if (values_.contains(graph_.nodes[id].inputs[0])) return false;
    const LayerMatrix matrix = dense_matrix(graph_, id);
    if (matrix.id == kNoTensor) return begin_by_table(id);
    if (shape(matrix.id)[matrix.outputs].constant().value_or(ranks_) < ranks_) return false;
    const LayerParts made = parts_of_layer(graph_, id);
    split_.begins.insert(id);
    for (const auto& [weight, part] : made.weights) split_.weights[weight] = part;
    for (const auto& [value, part] : made.values) split_.values[value] = part;
    return true;
  }

  // A head that reads the table of tokens, transposed.
  bool begin_by_table(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (node.inputs.size() < 2 || !has_shape(node.inputs[1])) return false;
    const TensorId across = node.inputs[1];
    const NodeId maker = graph_.tensors[across].producer;
    if (maker == kNoNode || !has(graph_.nodes[maker], OpRow::kView)) return false;
    const auto table = split_.weights.find(graph_.nodes[maker].inputs[0]);
    if (table == split_.weights.end() || table->second.dimension != 0) return false;
    const auto shown = part_after(graph_, graph_.nodes[maker], table->first, {}, ranks_);
    if (!shown || shown->dimension != 1) return false;
    split_.begins.insert(id);
    split_.values[across] = 1;
    const TensorId out = node.outputs[0];
    split_.values[out] = shape(out).size() - 1;
    return true;
  }

  void go_through(NodeId id) {
    const Node& node = graph_.nodes[id];
    const TensorId out = node.outputs[0];
    split_.values[out] = shape(out).size() - 1;
    for (const TensorId other : node.inputs) {
      if (other == node.inputs[0] || !has_classes(other, shape(out).back())) continue;
      const size_t classes = shape(other).size() - 1;
      split_.weights[numbers_of(other)] = {Axis::kTensor, classes};
      if (!is_parameter(other)) split_.values[other] = classes;
    }
  }

  const Graph& graph_;
  int64_t ranks_;
  const std::map<TensorId, size_t>& values_;
  LayerParts split_;
};

}  // namespace

LayerParts parts_of_layer(const Graph& graph, NodeId id) {
  const LayerMatrix matrix = dense_matrix(graph, id);
  const auto last = [&](TensorId t) { return graph.tensors[t].shape->size() - 1; };
  const Node& node = graph.nodes[id];
  LayerParts parts;
  parts.begins.insert(id);
  parts.weights[matrix.id] = {Axis::kTensor, matrix.outputs};
  if (node.inputs.size() > 2 && node.inputs[2] != kNoTensor)
    parts.weights[node.inputs[2]] = {Axis::kTensor, last(node.inputs[2])};
  parts.values[node.outputs[0]] = last(node.outputs[0]);
  return parts;
}

LayerParts split_words(const Graph& graph, int64_t ranks,
                       const std::map<TensorId, size_t>& values) {
  return Words(graph, ranks, values).run();
}

}  // namespace plimsoll::parallel
