#include "graph/parallel/tensor_split.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/ops/op_row.h"
#include "graph/parallel/unit.h"

namespace plimsoll::parallel {
namespace {

// The matrices of an adapter, behind its layer's path, and that layer, as peft calls them.
constexpr std::string_view kAdapterIn = ".lora_A.", kAdapterOut = ".lora_B.",
                           kAdapted = ".base_layer";

class Splitter {
 public:
  Splitter(const Graph& graph, int64_t ranks, const std::vector<TensorId>& received)
      : graph_(graph), ranks_(ranks), received_(received), readers_(graph) {}

  TensorSplit run(bool sequence) {
    for (const Unit& unit : units_below(graph_, "")) {
      for (NodeId id = unit.first; id < unit.last; ++id) {
        if (begins_part(id)) try_from(id, unit);
      }
      all_.blocks += split_.begins.empty() ? 0 : 1;
      for (NodeId id = unit.first; id < unit.last; ++id)
        all_.whole_attention += attends_whole(id) ? 1 : 0;
      put_aside();
    }
    split_ = std::move(all_);
    if (split_.blocks > 0) split_words();
    for (const NodeId id : split_.begins) split_.copied[graph_.nodes[id].inputs[0]] = id;
    if (sequence) split_sequence();
    return std::move(split_);
  }

 private:
  const Shape& shape(TensorId id) const { return *graph_.tensors[id].shape; }
  bool has_shape(TensorId id) const { return id != kNoTensor && graph_.tensors[id].shape; }

  // A dense layer's matrix, with its dimension of inputs: nothing where another layer reads it.
  struct Matrix {
    TensorId id;
    size_t inputs;
  };
  std::optional<Matrix> matrix_of(NodeId id) const {
    const Node& node = graph_.nodes[id];
    if (!has(node, OpRow::kDense) || node.inputs.size() < 2) return std::nullopt;
    const TensorId weight = node.inputs[1];
    const Tensor& t = graph_.tensors[weight];
    const bool whole = !t.shape || t.shape->size() != 2;
    if (t.kind != TensorKind::kParameter || whole) return std::nullopt;
    const bool outputs_first =
        has(node, OpRow::kOutputsFirst) || node.attributes.integer("transB", 0) != 0;
    return Matrix{weight, outputs_first ? size_t{1} : size_t{0}};
  }

  bool divides(const Dim& extent) const {
    const auto whole = extent.constant();
    return whole && *whole % ranks_ == 0;
  }

  bool is_split(TensorId id) const { return id != kNoTensor && split_.values.contains(id); }

  // Attention, or the products that it is made of, over what is no part: heads of queries alone, as
  // where fewer heads of keys and values than ranks are shared, are none that programs run.
  bool attends_whole(NodeId id) const {
    const Node& node = graph_.nodes[id];
    if (node.inputs.empty() || !has_shape(node.inputs[0])) return false;
    const bool product = has(node, OpRow::kDense) && node.inputs.size() > 1 &&
                         has_shape(node.inputs[1]) && shape(node.inputs[1]).size() > 2;
    if (!has(node, OpRow::kAttends) && !product) return false;
    constexpr size_t kQueriesKeysValues = 3;
    const auto operands =
        std::span(node.inputs)
            .first(std::min(node.inputs.size(), product ? size_t{2} : kQueriesKeysValues));
    return std::ranges::any_of(operands,
                               [&](TensorId in) { return has_shape(in) && !is_split(in); });
  }

  bool begins_part(NodeId id) const {
    const auto matrix = matrix_of(id);
    return matrix && !split_.begins.contains(id) && !is_split(graph_.nodes[id].inputs[0]) &&
           !is_of_adapter(matrix->id) && !split_.weights.contains(matrix->id) &&
           !all_.weights.contains(matrix->id) && divides(shape(matrix->id)[1 - matrix->inputs]);
  }

  bool is_of_adapter(TensorId weight) const {
    const std::string& name = graph_.tensors[weight].name;
    return name.find(kAdapterIn) != name.npos || name.find(kAdapterOut) != name.npos;
  }

  // An adapter's last matrix makes the part that its layer makes; its first one makes all of few
  // columns on every rank.
  void begin_adapter(NodeId layer, const Unit& unit) {
    std::string_view path = graph_.nodes[layer].module;
    if (path.ends_with(kAdapted)) path.remove_suffix(kAdapted.size());
    const std::string name = std::string(path) + std::string(kAdapterOut);
    for (NodeId id = layer; id < unit.last; ++id) {
      const auto matrix = matrix_of(id);
      if (matrix && graph_.tensors[matrix->id].name.starts_with(name)) return begin(id);
    }
  }

  // No part leaves its unit: what others try need not be told of it, but of its weights.
  void put_aside() {
    for (const auto& [id, placement] : split_.weights) all_.weights[id] = placement;
    all_.values.merge(split_.values);
    all_.begins.merge(split_.begins);
    all_.ends.merge(split_.ends);
    all_.by_heads.merge(split_.by_heads);
    split_ = {};
  }

  // All layers of the unit that read the same, and what follows them there.
  void try_from(NodeId first, const Unit& unit) {
    const TensorSplit before = split_;
    const TensorId read = graph_.nodes[first].inputs[0];
    for (NodeId id = first; id < unit.last; ++id) {
      if (graph_.nodes[id].inputs.empty() || graph_.nodes[id].inputs[0] != read) continue;
      if (!begins_part(id)) continue;
      begin(id);
      begin_adapter(id, unit);
    }
    bool whole = true;
    for (NodeId id = first; id < unit.last && whole; ++id) whole = go_through(id);
    if (!whole || leaves(unit)) split_ = before;
  }

  void begin(NodeId id) {
    const Matrix matrix = *matrix_of(id);
    split_.begins.insert(id);
    split_.weights[matrix.id] = {Axis::kTensor, 1 - matrix.inputs};
    const std::vector<TensorId>& inputs = graph_.nodes[id].inputs;
    if (inputs.size() > 2 && inputs[2] != kNoTensor)
      split_.weights[inputs[2]] = {Axis::kTensor, shape(inputs[2]).size() - 1};
    const TensorId out = graph_.nodes[id].outputs[0];
    split_.values[out] = shape(out).size() - 1;
  }

  // A part is read outside of the unit.
  bool leaves(const Unit& unit) const {
    for (NodeId id = unit.first; id < unit.last; ++id) {
      for (const TensorId out : graph_.nodes[id].outputs) {
        if (!is_split(out)) continue;
        if (std::ranges::find(graph_.outputs, out) != graph_.outputs.end()) return true;
        for (const NodeId reader : readers_[out]) {
          if (reader < unit.first || reader >= unit.last) return true;
        }
      }
    }
    return false;
  }

  // False where the node cannot take parts of what it reads.
  bool go_through(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (split_.begins.contains(id)) return true;
    const auto reads = std::ranges::find_if(node.inputs, [&](TensorId in) { return is_split(in); });
    if (reads == node.inputs.end() || node.outputs.empty() || !has_shape(node.outputs[0]))
      return reads == node.inputs.end();
    const size_t dimension = split_.values.at(*reads);
    if (const auto matrix = matrix_of(id)) {
      if (dimension + 1 != shape(*reads).size() || !divides(shape(matrix->id)[matrix->inputs]))
        return false;
      split_.weights[matrix->id] = {Axis::kTensor, matrix->inputs};
      split_.ends.insert(id);
      return true;
    }
    const auto out = dimension_after(node, *reads, dimension);
    if (!out || !divides(shape(node.outputs[0])[*out])) return false;
    if (!fit_others(node, *reads, dimension)) return false;
    if (has(node, OpRow::kAttends)) split_.by_heads.insert(id);
    for (const TensorId made : node.outputs) {
      if (has_shape(made) && shape(made).size() > *out) split_.values[made] = *out;
    }
    return true;
  }

  std::optional<size_t> dimension_after(const Node& node, TensorId in, size_t dimension) const {
    const Shape& from = shape(in);
    const Shape& to = shape(node.outputs[0]);
    if (has(node, OpRow::kView)) {
      return has(node, OpRow::kInOrder) ? in_order(from, to, dimension)
                                        : transposed(node, dimension);
    }
    const bool last = dimension + 1 == from.size();
    if (has(node, OpRow::kNorm) && last) return std::nullopt;
    if (has(node, OpRow::kDense) && dimension + 2 >= from.size()) return std::nullopt;
    if (from.size() > to.size()) return std::nullopt;
    return dimension + to.size() - from.size();
  }

  static std::optional<size_t> transposed(const Node& node, size_t dimension) {
    const auto* perm = node.attributes.get<std::vector<int64_t>>("perm");
    if (!perm) return std::nullopt;
    const auto at = std::ranges::find(*perm, static_cast<int64_t>(dimension));
    if (at == perm->end()) return std::nullopt;
    return static_cast<size_t>(at - perm->begin());
  }

  // The dimension before which there are as many elements.
  static std::optional<size_t> in_order(const Shape& from, const Shape& to, size_t dimension) {
    Dim before = 1;
    for (size_t i = 0; i < dimension; ++i) before *= from[i];
    Dim here = 1;
    for (size_t i = 0; i < to.size(); ++i) {
      if (here == before && !(to[i] == Dim(1))) return i;
      here *= to[i];
    }
    return std::nullopt;
  }

  // Other operands are parts too, or the same for all ranks; a weight along the dimension is
  // parted.
  bool fit_others(const Node& node, TensorId in, size_t dimension) {
    const size_t from_end = shape(in).size() - dimension;
    for (const TensorId other : node.inputs) {
      if (!has_shape(other) || is_split(other) || shape(other).size() < from_end) continue;
      const size_t at = shape(other).size() - from_end;
      if (!(shape(other)[at] == shape(in)[dimension])) continue;
      const Tensor& t = graph_.tensors[other];
      if (t.kind != TensorKind::kParameter) return false;
      split_.weights[other] = {Axis::kTensor, at};
    }
    return true;
  }

  // The table that tokens pick rows of, and the layer that makes outputs of the network.
  void split_words() {
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      const Node& node = graph_.nodes[id];
      if (!has(node, OpRow::kPicksByIndex) || node.inputs.empty()) continue;
      const Tensor& table = graph_.tensors[node.inputs[0]];
      const bool words = table.kind == TensorKind::kParameter && table.shape &&
                         table.shape->size() == 2 && is_input(node.inputs[1]);
      if (!words) continue;
      split_.weights[node.inputs[0]] = {Axis::kTensor, 0};
      split_.ends.insert(id);
    }
    for (const TensorId out : graph_.outputs) {
      const NodeId id = graph_.tensors[out].producer;
      if (id == kNoNode) continue;
      const auto matrix = matrix_of(id);
      if (is_split(graph_.nodes[id].inputs[0])) continue;
      if (!matrix) begin_by_table(id);
      if (!matrix) continue;
      if (shape(matrix->id)[1 - matrix->inputs].constant().value_or(ranks_) < ranks_) continue;
      begin(id);
    }
  }

  // A head that reads the table of tokens, transposed.
  void begin_by_table(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (!has(node, OpRow::kDense) || node.inputs.size() < 2 || !has_shape(node.inputs[1])) return;
    const TensorId across = node.inputs[1];
    const NodeId maker = graph_.tensors[across].producer;
    if (maker == kNoNode || !has(graph_.nodes[maker], OpRow::kView)) return;
    const auto table = split_.weights.find(graph_.nodes[maker].inputs[0]);
    if (table == split_.weights.end() || table->second.dimension != 0) return;
    if (transposed(graph_.nodes[maker], 0) != std::optional<size_t>(1)) return;
    split_.begins.insert(id);
    split_.values[across] = 1;
    const TensorId out = node.outputs[0];
    split_.values[out] = shape(out).size() - 1;
  }

  bool is_input(TensorId id) const {
    return id != kNoTensor && graph_.tensors[id].kind == TensorKind::kInput;
  }

  // From the sums on, and from what the stage before sends, up to the layers that read what all
  // ranks have.
  void split_sequence() {
    std::map<TensorId, size_t> parts;
    for (const TensorId id : received_) {
      if (has_shape(id) && shape(id).size() >= 2) parts[id] = shape(id).size() - 2;
    }
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      const Node& node = graph_.nodes[id];
      if (split_.begins.contains(id)) continue;
      const bool sum = split_.ends.contains(id);
      const bool follows = std::ranges::any_of(
          node.inputs, [&](TensorId in) { return in != kNoTensor && parts.contains(in); });
      if (!sum && !follows) continue;
      for (const TensorId out : node.outputs) {
        if (has_shape(out) && shape(out).size() >= 2 && !is_split(out))
          parts[out] = shape(out).size() - 2;
      }
    }
    split_.values.merge(parts);
  }

  const Graph& graph_;
  int64_t ranks_;
  const std::vector<TensorId>& received_;
  Consumers readers_;
  TensorSplit split_;  // of the unit that is tried, in the end of the network
  TensorSplit all_;    // of the units before it
};

}  // namespace

TensorSplit split_tensors(const Graph& graph, int64_t ranks, bool sequence,
                          const std::vector<TensorId>& received) {
  return Splitter(graph, ranks, received).run(sequence);
}

Graph with_parts(Graph graph, const TensorSplit& split, int64_t ranks) {
  for (const auto& [id, dimension] : split.values) {
    Dim& extent = (*graph.tensors[id].shape)[dimension];
    extent = part_of(extent, ranks);
  }
  for (const NodeId id : split.by_heads) {
    Attributes& attributes = graph.nodes[id].attributes;
    for (const char* heads : {"num_heads", "q_num_heads", "kv_num_heads"}) {
      const int64_t all = attributes.integer(heads, 0);
      if (all > 0) attributes.set(heads, all / ranks);
    }
  }
  return graph;
}

}  // namespace plimsoll::parallel
