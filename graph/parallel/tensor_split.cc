#include "graph/parallel/tensor_split.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/ops/op_row.h"
#include "graph/parallel/attention_reads.h"
#include "graph/parallel/expert_layer.h"
#include "graph/parallel/layer_matrix.h"
#include "graph/parallel/layer_path.h"
#include "graph/parallel/part.h"
#include "graph/parallel/sequence_parts.h"
#include "graph/parallel/split_words.h"
#include "graph/parallel/unit.h"

namespace plimsoll::parallel {
namespace {

class Splitter {
 public:
  Splitter(const Graph& graph, int64_t ranks, const std::vector<TensorId>& received)
      : graph_(graph), ranks_(ranks), received_(received), readers_(graph) {}

  TensorSplit run(bool sequence) {
    for (const Unit& unit : units_below(graph_, "")) {
      first_ = unit.first;
      for (NodeId id = unit.first; id < unit.last; ++id) {
        if (begins_part(id)) try_from(id, unit);
      }
      for (const ExpertLayer& layer : expert_layers(graph_, unit)) try_experts(layer);
      all_.blocks += split_.begins.empty() ? 0 : 1;
      for (NodeId id = unit.first; id < unit.last; ++id) {
        if (!attends_whole(id)) continue;
        const bool alike = split_.alike.contains(id);
        if (!alike && all_.whole_attention == 0) all_.first_whole = id;
        ++(alike ? all_.gathered_attention : all_.whole_attention);
      }
      put_aside();
    }
    split_ = std::move(all_);
    if (split_.blocks > 0) take(split_words(graph_, ranks_, split_.values));
    for (const NodeId id : split_.begins) split_.copied[graph_.nodes[id].inputs[0]] = id;
    if (sequence)
      split_.values.merge(
          sequence_parts(graph_, {split_.begins, split_.ends, split_.values}, received_));
    return std::move(split_);
  }

 private:
  const Shape& shape(TensorId id) const { return *graph_.tensors[id].shape; }
  bool has_shape(TensorId id) const { return id != kNoTensor && graph_.tensors[id].shape; }
  std::optional<LayerMatrix> matrix_of(NodeId id) const {
    const LayerMatrix matrix = dense_matrix(graph_, id);
    return matrix.id == kNoTensor ? std::nullopt : std::optional(matrix);
  }

  bool divides(const Dim& extent) const {
    const auto whole = extent.constant();
    return whole && *whole % ranks_ == 0;
  }

  bool is_split(TensorId id) const { return id != kNoTensor && split_.values.contains(id); }

  // No program runs heads of queries alone, where ranks share fewer heads of keys and values.
  bool attends_whole(NodeId id) const {
    return std::ranges::any_of(attended(graph_, id),
                               [&](TensorId in) { return has_shape(in) && !is_split(in); });
  }

  bool begins_part(NodeId id) const {
    const auto matrix = matrix_of(id);
    return matrix && !split_.begins.contains(id) && !is_split(graph_.nodes[id].inputs[0]) &&
           !graph_.nodes[id].notes.no_grad && !is_of_adapter(graph_.tensors[matrix->id].name) &&
           !split_.weights.contains(matrix->id) && !all_.weights.contains(matrix->id) &&
           divides(shape(matrix->id)[matrix->outputs]);
  }

  bool ends_adapter(NodeId id) const {
    const auto matrix = matrix_of(id);
    return matrix && is_last_of_adapter(graph_.tensors[matrix->id].name) &&
           !split_.weights.contains(matrix->id) && divides(shape(matrix->id)[matrix->outputs]);
  }

  // An adapter's last matrix makes the part that its layer makes, its first one all of few columns.
  void begin_adapter(NodeId layer, const Unit& unit) {
    const std::string name = last_of_adapter(layer_path(graph_.nodes[layer]));
    for (NodeId id = layer; id < unit.last; ++id) {
      const auto matrix = matrix_of(id);
      if (matrix && graph_.tensors[matrix->id].name.starts_with(name)) return begin(id);
    }
  }

  // No part leaves its unit: what others try need not be told of it, but of its weights.
  void put_aside() {
    for (const auto& [id, placement] : split_.weights) all_.weights[id] = placement;
    all_.values.merge(split_.values);
    for (const auto nodes : {&TensorSplit::begins, &TensorSplit::ends, &TensorSplit::counting,
                             &TensorSplit::gathered, &TensorSplit::scattered, &TensorSplit::cut})
      (all_.*nodes).merge(split_.*nodes);
    split_ = {};
    pieces_.clear();
  }

  // All layers of the unit that read the same, and what follows them there; else those that stand
  // in one module with the first, beside a router that reads the same; else the first one, where
  // another one makes what all heads share (DeepSeek V2 Lite: q_proj and kv_a_proj_with_mqa).
  void try_from(NodeId first, const Unit& unit) {
    const std::string_view path = layer_path(graph_.nodes[first]);
    const bool split = try_layers(first, unit, "") ||
                       try_layers(first, unit, module_around(path)) ||
                       (is_of_attention(path, unit) && try_layers(first, unit, path));
    if (!split) try_gathered(first, unit);
  }

  bool is_of_attention(std::string_view path, const Unit& unit) const {
    for (NodeId id = unit.first; id < unit.last; ++id) {
      const bool here = (graph_.nodes[id].module + '.').starts_with(module_around(path));
      if (here && !attended(graph_, id).empty()) return true;
    }
    return false;
  }

  // Norms over all heads: what the first layers make is gathered, each rank attends with all heads
  // and gives the last layer its part (transformers 5.24, models/olmo2/configuration_olmo2.py,
  // base_model_tp_plan: colwise_gather_output, rowwise_split_input). Their adapters each rank has
  // whole (peft 0.21, tuners/lora/model.py, _SUPPORTED_TP_PLANS).
  void try_gathered(NodeId first, const Unit& unit) {
    if (!is_normed_whole(graph_, readers_, first)) return;
    const TensorId read = graph_.nodes[first].inputs[0];
    const std::string_view module = module_around(layer_path(graph_.nodes[first]));
    const TensorSplit before = split_;
    NodeId last = kNoNode;
    for (NodeId id = first; id < unit.last; ++id) {
      if (!(graph_.nodes[id].module + '.').starts_with(module)) continue;
      split_.alike.insert(id);
      const auto matrix = matrix_of(id);
      if (!matrix || is_of_adapter(graph_.tensors[matrix->id].name)) continue;
      last = id;
      if (graph_.nodes[id].inputs[0] != read || !begins_part(id)) continue;
      begin(id);
      split_.gathered.insert(id);
      split_.values.erase(graph_.nodes[id].outputs[0]);
    }
    const LayerMatrix matrix = dense_matrix(graph_, last);
    if (split_.gathered.contains(last) || !divides(shape(matrix.id)[matrix.inputs])) {
      split_ = before;
      return;
    }
    split_.weights[matrix.id] = {Axis::kTensor, matrix.inputs};
    split_.cut.insert(last);
    split_.ends.insert(last);
  }

  bool try_layers(NodeId first, const Unit& unit, std::string_view module) {
    const TensorSplit before = split_;
    const TensorId read = graph_.nodes[first].inputs[0];
    for (NodeId id = first; id < unit.last; ++id) {
      if (graph_.nodes[id].inputs.empty() || graph_.nodes[id].inputs[0] != read) continue;
      if (!begins_part(id) || !layer_path(graph_.nodes[id]).starts_with(module)) continue;
      begin(id);
      begin_adapter(id, unit);
    }
    bool whole = true;
    for (NodeId id = first; id < unit.last && whole; ++id) whole = go_through(id);
    whole = whole && !leaves(unit);
    if (!whole) split_ = before;
    return whole;
  }

  void begin(NodeId id) { take(parts_of_layer(graph_, id)); }

  void take(LayerParts parts) {
    for (const auto& [id, placement] : parts.weights) split_.weights[id] = placement;
    for (const auto& [id, dimension] : parts.values) split_.values[id] = dimension;
    split_.begins.merge(parts.begins);
    split_.ends.merge(parts.ends);
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
    const Part part = part_of(*reads);
    if (const auto matrix = matrix_of(id)) {
      if (part.dimension + 1 != shape(*reads).size() || !divides(shape(matrix->id)[matrix->inputs]))
        return false;
      split_.weights[matrix->id] = {Axis::kTensor, matrix->inputs};
      split_.ends.insert(id);
      return true;
    }
    const auto after = part_after(graph_, node, *reads, part, ranks_);
    if (!after || !fit_others(node, *reads, part.dimension)) return false;
    if (has_any(node, OpRow::kAttends | OpRow::kConvolutional)) split_.counting.insert(id);
    return put(node, *after);
  }

  // Of each output of the node the part.
  bool put(const Node& node, const Part& part) {
    for (const TensorId made : node.outputs) {
      if (!has_shape(made) || shape(made).size() <= part.dimension) continue;
      if (!parallel::divides(shape(made), part, ranks_)) return false;
      split_.values[made] = part.dimension;
      pieces_.insert_or_assign(made, part.pieces);
    }
    return true;
  }

  // Other operands are parts too, or the same for all ranks; a weight along the dimension is
  // parted.
  bool fit_others(const Node& node, TensorId in, size_t dimension) {
    const size_t from_end = shape(in).size() - dimension;
    if (has(node, OpRow::kOverTime))
      return std::ranges::all_of(node.inputs, [&](TensorId other) { return is_split(other); });
    if (has(node, OpRow::kConvolutional)) {
      for (const TensorId filters : std::span(node.inputs).subspan(1)) {
        if (filters != kNoTensor) split_.weights[filters] = {Axis::kTensor, 0};
      }
      return true;
    }
    for (const TensorId other : node.inputs) {
      if (!has_shape(other) || is_split(other) || shape(other).size() < from_end) continue;
      const size_t at = shape(other).size() - from_end;
      if (shape(other)[at] == shape(in)[dimension] && !part_operand(other, at)) return false;
    }
    return true;
  }

  // Of what all ranks have alike, a rank makes its part: of a weight, of what a dense layer makes,
  // of what is repeated along the dimension, and of what is made of such by itself.
  bool part_operand(TensorId id, size_t dimension) {
    if (is_split(id)) return split_.values.at(id) == dimension;
    if (graph_.tensors[id].kind == TensorKind::kParameter) {
      split_.weights[id] = {Axis::kTensor, dimension};
      return true;
    }
    const NodeId maker = graph_.tensors[id].producer;
    if (maker == kNoNode) return false;
    const Node& node = graph_.nodes[maker];
    const bool of_positions = maker < first_ && is_of_positions(graph_, id);
    if (readers_[id].size() != 1 && !of_positions) return false;
    if (of_positions && is_rows_of_table(graph_, node)) return scatter(maker, dimension);
    if (of_positions && !has(node, OpRow::kView)) return part_constants(node, id, dimension);
    if (matrix_of(maker)) {
      const bool begins = begins_part(maker) || ends_adapter(maker);
      if (dimension + 1 != shape(id).size() || !begins) return false;
      begin(maker);
      return true;
    }
    if (node.inputs.empty() || !has_shape(node.inputs[0]) || !part_inputs(maker, id, dimension))
      return false;
    return put(node, {.dimension = dimension});
  }

  // Each rank has all of such a table, and takes the columns of its heads (Megatron-LM, megatron/
  // core/models/T5/t5_model.py, scatter_to_tensor_model_parallel_region()).
  bool scatter(NodeId maker, size_t dimension) {
    const Shape& made = shape(graph_.nodes[maker].outputs[0]);
    if (dimension + 1 != made.size() || !divides(made[dimension])) return false;
    split_.scattered.insert(maker);
    return true;
  }

  // Each rank computes such numbers of its heads (bigscience-workshop/Megatron-DeepSpeed,
  // megatron/model/transformer.py, _build_alibi_tensor()).
  bool part_constants(const Node& node, TensorId id, size_t dimension) {
    const size_t from_end = shape(id).size() - dimension;
    for (const TensorId in : node.inputs) {
      if (!has_shape(in) || graph_.tensors[in].has_dims || shape(in).size() < from_end) continue;
      const size_t at = shape(in).size() - from_end;
      if (shape(in)[at] == shape(id)[dimension] && !part_operand(in, at)) return false;
    }
    return put(node, {.dimension = dimension});
  }

  // Of what the node reads, so that it makes a part of `id`.
  bool part_inputs(NodeId maker, TensorId id, size_t dimension) {
    const Node& node = graph_.nodes[maker];
    const TensorId from = node.inputs[0];
    if (has(node, OpRow::kRepeats)) {
      const bool once = shape(from).size() == shape(id).size() && shape(from)[dimension] == Dim(1);
      if (once) split_.begins.insert(maker);
      return once;
    }
    if (has(node, OpRow::kView)) {
      const auto before = part_before(graph_, node, {.dimension = dimension}, ranks_);
      return before && before->pieces == Dim(1) && part_operand(from, before->dimension);
    }
    if (has(node, OpRow::kConcatenates))
      return std::ranges::all_of(node.inputs,
                                 [&](TensorId in) { return part_operand(in, dimension); });
    if (has_any(node, OpRow::kAddition | OpRow::kMultiplication))
      return part_both(node, id, dimension);
    const bool by_itself = node.inputs.size() == 1 && shape(from) == shape(id);
    const bool cuts = node.outputs.size() > 1 && shape(from)[dimension] == shape(id)[dimension];
    return (by_itself || cuts) && part_operand(from, dimension);
  }

  // Of a sum of a layer and its adapter, which is scaled.
  bool part_both(const Node& node, TensorId id, size_t dimension) {
    return std::ranges::all_of(node.inputs, [&](TensorId in) {
      return !has_shape(in) || shape(in).empty() ||
             (shape(in) == shape(id) && part_operand(in, dimension));
    });
  }

  Part part_of(TensorId id) const {
    const auto pieces = pieces_.find(id);
    return {split_.values.at(id), pieces == pieces_.end() ? Dim(1) : pieces->second};
  }

  // Each rank has some of what experts have inside: it reads what all ranks have, and what it makes
  // of each token is summed in the end (transformers, distributed/tensor_parallel.py,
  // MoeExpertsParallel).
  void try_experts(const ExpertLayer& layer) {
    ++all_.experts;
    const TensorSplit before = split_;
    const auto begin = stacked_matrix(graph_, layer.first_product);
    const auto end = stacked_matrix(graph_, layer.last_product);
    const Node& first = graph_.nodes[layer.first_product];
    bool whole = divides(shape(begin.id)[begin.outputs]) && divides(shape(end.id)[end.inputs]);
    if (whole) {
      part_stack(first, begin, begin.outputs);
      split_.values[first.outputs[0]] = shape(first.outputs[0]).size() - 1;
    }
    for (NodeId id = layer.first_product + 1; id < layer.last_product && whole; ++id)
      whole = go_through(id);
    const Node& last = graph_.nodes[layer.last_product];
    if (!whole || !is_split(last.inputs[0])) {
      split_ = before;
      ++all_.whole_experts;
      return;
    }
    part_stack(last, end, end.inputs);
    split_.begins.insert(layer.reads.begin(), layer.reads.end());
    split_.ends.insert(layer.last);
  }

  void part_stack(const Node& node, const LayerMatrix& matrix, size_t dimension) {
    split_.weights[matrix.id] = {Axis::kTensor, dimension};
    // What shows it transposed has its matrices' other dimension.
    if (node.inputs[1] != matrix.id) split_.values[node.inputs[1]] = 3 - dimension;
  }

  const Graph& graph_;
  int64_t ranks_;
  const std::vector<TensorId>& received_;
  Consumers readers_;
  NodeId first_ = 0;                // of the unit that is tried
  TensorSplit split_;               // of it, in the end of the network
  TensorSplit all_;                 // of the units before it
  std::map<TensorId, Dim> pieces_;  // of values of the unit whose part is of several (part.h)
};

}  // namespace

TensorSplit split_tensors(const Graph& graph, int64_t ranks, bool sequence,
                          const std::vector<TensorId>& received) {
  return Splitter(graph, ranks, received).run(sequence);
}

}  // namespace plimsoll::parallel
