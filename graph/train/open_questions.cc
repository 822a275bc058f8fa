#include "graph/train/open_questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "graph/exporter/origin.h"
#include "graph/exporter/weight_places.h"
#include "graph/ops/input_independent.h"
#include "graph/ops/op_row.h"
#include "graph/train/tally.h"

namespace plimsoll {
namespace {

class OpenSearch {
 public:
  OpenSearch(const Graph& graph, const std::vector<WeightRole>& kinds)
      : graph_(graph),
        kinds_(kinds),
        has_lines_(std::ranges::any_of(
            graph.nodes, [](const Node& node) { return !node.notes.statements.empty(); })) {}

  OpenQuestions run() {
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) look_at(id);
    look_at_buffers();
    look_at_passes();
    tell(passes_, "layer",
         "may run without gradients for one of its inputs or, as assumed here, for none");
    tell(leaky_, "activation", "may run in place or not");
    tell(regions_, "operator", "may run with gradients or, as assumed here, without");
    tell(masks_, "attention", "may have no mask or, as assumed here, the network's mask");
    tell(extrema_, "reduction",
         "to a maximum or minimum may give values only or, as assumed here, positions too");
    tell(sides_, "loss",
         "of a value and itself may have gradients of both sides or, as assumed here, of the "
         "second side's last layer only");
    tell(buffers_, "array", "of arithmetic may be a buffer or, as assumed here, a weight");
    open_.names = graph_.exporter == Exporter::kPyTorch && !has_lines_;
    return std::move(open_);
  }

 private:
  void look_at(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (node.inputs.empty() || node.inputs[0] == kNoTensor) return;
    if (is_leaky_of_layer(node)) {
      leaky_.add(id);
      (node.notes.in_place ? open_.more : open_.less) += bytes_of(node.inputs[0]);
    }
    if (node.notes.no_grad && !graph_.tensors[node.outputs[0]].has_dims) {
      regions_.add(id);
      if (!has(node, OpRow::kSharesStorage)) open_.more += bytes_of(node.outputs[0]);
    }
    if (const TensorId detached = detached_from_other_side(node); detached != kNoTensor) {
      sides_.add(id);
      open_.more += bytes_of(detached);
    }
    if (may_lack_positions(node)) {
      extrema_.add(id);
      open_.more += bytes_of(node.inputs[0]) + bytes_of(node.outputs[0]);
    }
    if (reads_network_mask(node)) {
      masks_.add(id);
      open_.less += bytes_of(node.inputs[3]);
    }
  }

  // In place its result is what backward reads, and what it read is free. (A ReLU, which has no
  // slope or scale, keeps its result anyway.)
  bool is_leaky_of_layer(const Node& node) const {
    if (!has(node, OpRow::kRectifier | OpRow::kOfResult) || graph_.exporter != Exporter::kPyTorch ||
        !node.attributes.has("alpha"))
      return false;
    const NodeId maker = graph_.tensors[node.inputs[0]].producer;
    return maker != kNoNode &&
           has_any(graph_.nodes[maker], OpRow::kConvolutional | OpRow::kDense | OpRow::kNorm);
  }

  // What the layer of a loss's first side reads, where that of the second reads it detached, as
  // recover() computes a side that was merged; kNoTensor where a loss has other sides. Its gradient
  // is made where it is not.
  TensorId detached_from_other_side(const Node& node) const {
    if (node.domain != "plimsoll" || node.inputs.size() != 2) return kNoTensor;
    const auto read_by = [&](TensorId value) {
      const NodeId maker = value == kNoTensor ? kNoNode : graph_.tensors[value].producer;
      const bool reads = maker != kNoNode && !graph_.nodes[maker].inputs.empty();
      return reads ? graph_.nodes[maker].inputs[0] : kNoTensor;
    };
    const TensorId second = read_by(node.inputs[1]), read = read_by(second);
    const bool merged = second != kNoTensor && read != kNoTensor &&
                        read == read_by(node.inputs[0]) &&
                        graph_.nodes[graph_.tensors[second].producer].op == "Detach";
    return merged ? read : kNoTensor;
  }

  // torch.max() along one dimension keeps positions, torch.amax() its input and its result;
  // TorchScript writes the same for both; the newer exporter calls the result after either.
  bool may_lack_positions(const Node& node) const {
    if (has_lines_ || graph_.exporter != Exporter::kPyTorch) return false;
    if (!has(node, OpRow::kExtremum)) return false;
    const std::string& name = graph_.tensors[node.outputs[0]].name;
    if (is_called_after(name, "max") || is_called_after(name, "min")) return false;
    const std::optional<size_t> axes = axes_of(node);
    const Tensor& whole = graph_.tensors[node.inputs[0]];
    const bool along_one = axes == 1 && whole.shape && whole.shape->size() > 1;
    return along_one && !node.notes.positions && !node.notes.values_alone &&
           independent_of_inputs()[node.inputs[0]] == 0;
  }

  // How many it reduces; before opset 18 they are an attribute.
  std::optional<size_t> axes_of(const Node& node) const {
    if (node.attributes.has("axes")) return node.attributes.integers("axes").size();
    if (node.inputs.size() < 2 || node.inputs[1] == kNoTensor) return std::nullopt;
    const auto& shape = graph_.tensors[node.inputs[1]].shape;
    return shape && shape->size() == 1 && (*shape)[0] == Dim(1) ? std::optional<size_t>(1)
                                                                : std::nullopt;
  }

  // By TorchScript, which has no lines: Hugging Face would leave it out (mask_operand()).
  bool reads_network_mask(const Node& node) const {
    if (has_lines_ || !has(node, OpRow::kAttends) || node.domain != "plimsoll") return false;
    if (node.inputs.size() < 4 || node.inputs[3] == kNoTensor) return false;
    const NodeId maker = graph_.tensors[node.inputs[3]].producer;
    if (maker == kNoNode || graph_.nodes[maker].inputs.size() != 3) return false;
    const auto independent = independent_of_inputs();
    return independent[node.inputs[3]] != 0;
  }

  const std::vector<char>& independent_of_inputs() const {
    if (independent_.empty()) independent_ = input_independent(graph_);
    return independent_;
  }

  // What has a gradient for their sake alone is not kept where they are buffers.
  void look_at_buffers() {
    if (graph_.exporter != Exporter::kPyTorch || has_lines_) return;
    std::vector<char> doubtful = arrays_in_arithmetic(), sure(graph_.tensors.size(), 0);
    for (TensorId id = 0; id < kinds_.size(); ++id)
      sure[id] = kinds_[id] == WeightRole::kTrained && !doubtful[id] ? 1 : 0;
    const std::vector<char> arrays = doubtful;
    std::vector<char> depends(graph_.tensors.size(), 0);
    for (const TensorId in : graph_.inputs) depends[in] = 1;
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      const Node& node = graph_.nodes[id];
      const auto reads = [&](const std::vector<char>& set) {
        return std::ranges::any_of(node.inputs,
                                   [&](TensorId in) { return in != kNoTensor && set[in]; });
      };
      const bool surely = reads(sure), perhaps = !surely && reads(doubtful);
      const bool data = reads(depends) && !has(node, OpRow::kShapeOf);
      if (perhaps && data && reads(arrays)) buffers_.add(id);
      for (const TensorId out : node.outputs) {
        if (out == kNoTensor) continue;
        sure[out] = surely ? 1 : 0;
        doubtful[out] = perhaps ? 1 : 0;
        depends[out] = data ? 1 : 0;
        if (perhaps && data && !has(node, OpRow::kSharesStorage)) open_.less += bytes_of(out);
      }
    }
  }

  // A layer that two inputs pass, each before any other weight: a teacher that shares its weights,
  // a target under torch.no_grad(). What only one pass made is not kept then.
  void look_at_passes() {
    if (graph_.exporter != Exporter::kPyTorch || has_lines_) return;
    std::map<TensorId, std::vector<NodeId>> readers;
    std::vector<char> trained(graph_.tensors.size(), 0);
    for (TensorId id = 0; id < kinds_.size(); ++id)
      trained[id] = kinds_[id] == WeightRole::kTrained ? 1 : 0;
    const auto reads = [&](TensorId in) { return in != kNoTensor && trained[in] != 0; };
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      const Node& node = graph_.nodes[id];
      if (multiplies_by_weight(node) && node.inputs.size() > 1 && !reads(node.inputs[0]) &&
          reads(node.inputs[1]))
        readers[node.inputs[1]].push_back(id);
      const bool any = !has(node, OpRow::kShapeOf) && std::ranges::any_of(node.inputs, reads);
      for (const TensorId out : node.outputs) {
        if (out != kNoTensor) trained[out] = any ? 1 : 0;
      }
    }
    for (const auto& [weight, nodes] : readers) {
      if (nodes.size() != 2) continue;
      const Dim one = made_by_one(nodes[0], nodes[1]), other = made_by_one(nodes[1], nodes[0]);
      if (one == Dim(0) || other == Dim(0)) continue;
      passes_.add(nodes[0]);
      open_.less += one;
    }
  }

  // Bytes of what follows from one node and not from the other.
  Dim made_by_one(NodeId node, NodeId other) const {
    std::vector<char> ours(graph_.tensors.size(), 0), theirs(graph_.tensors.size(), 0);
    Dim sum;
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
      const auto follows = [&](const std::vector<char>& from, NodeId begin) {
        return id == begin || std::ranges::any_of(graph_.nodes[id].inputs, [&](TensorId in) {
                 return in != kNoTensor && from[in] != 0;
               });
      };
      const bool mine = follows(ours, node), its = follows(theirs, other);
      for (const TensorId out : graph_.nodes[id].outputs) {
        if (out == kNoTensor) continue;
        ours[out] = mine ? 1 : 0;
        theirs[out] = its ? 1 : 0;
        if (mine && !its && !has(graph_.nodes[id], OpRow::kSharesStorage)) sum += bytes_of(out);
      }
    }
    return sum;
  }

  // That nothing but arithmetic reads, and whose name is no weight's.
  std::vector<char> arrays_in_arithmetic() const {
    std::vector<char> found(graph_.tensors.size(), 0), read_else(graph_.tensors.size(), 0);
    for (const Node& node : graph_.nodes) {
      const bool arithmetic = has_any(node, OpRow::kAddition | OpRow::kMultiplication);
      for (const TensorId in : node.inputs) {
        if (in != kNoTensor) (arithmetic ? found : read_else)[in] = 1;
      }
    }
    for (TensorId id = 0; id < found.size(); ++id) {
      const Tensor& t = graph_.tensors[id];
      const bool array = t.kind == TensorKind::kParameter && !t.weight && t.shape &&
                         !t.shape->empty() && kinds_[id] == WeightRole::kTrained;
      const std::string_view last = std::string_view(t.name).substr(t.name.rfind('.') + 1);
      if (!array || read_else[id] || is_parameter_name(last, Exporter::kOther)) found[id] = 0;
    }
    return found;
  }

  void tell(const Tally& tally, std::string_view one, std::string_view what) {
    if (tally.count == 0) return;
    open_.warnings.push_back(
        warning("W237",
                fmt::format("{} {}{} {}: the range includes both", tally.count, one,
                            tally.count == 1 ? "" : "s", what),
                {.file = {}, .node = describe(graph_, tally.first)},
                "from_torch() in Python reads the module itself, which decides this"));
  }

  Dim bytes_of(TensorId tensor) const {
    const Tensor& t = graph_.tensors[tensor];
    return t.shape && is_float(t.dtype) ? bytes(t.dtype, elements(*t.shape)) : Dim(0);
  }

  const Graph& graph_;
  const std::vector<WeightRole>& kinds_;
  bool has_lines_;
  mutable std::vector<char> independent_;
  OpenQuestions open_;
  Tally leaky_, regions_, masks_, buffers_, passes_, extrema_, sides_;
};

}  // namespace

OpenQuestions open_questions(const Graph& graph, const std::vector<WeightRole>& kinds) {
  return OpenSearch(graph, kinds).run();
}

}  // namespace plimsoll
