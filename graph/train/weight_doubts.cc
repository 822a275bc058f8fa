#include "graph/train/weight_doubts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "graph/base/setting.h"
#include "graph/exporter/weight_places.h"
#include "graph/ops/op_row.h"
#include "graph/train/tally.h"

namespace plimsoll {
namespace {

class DoubtSearch {
 public:
  DoubtSearch(const Graph& graph, const std::vector<WeightRole>& kinds)
      : graph_(graph),
        kinds_(kinds),
        readers_(graph),
        weighed_(graph.tensors.size(), 0),
        fed_(graph.tensors.size(), 0) {
    for (TensorId id = 0; id < graph.tensors.size(); ++id) {
      const Tensor& t = graph.tensors[id];
      fed_[id] = t.kind == TensorKind::kInput && is_float(t.dtype);
      // A buffer is known for one by its name.
      weighed_[id] = t.kind == TensorKind::kParameter &&
                     (is_weight(kinds[id]) || kinds[id] == WeightRole::kBuffer);
    }
    for (const Node& node : graph.nodes) follow(node);
  }

  Diagnostics run(const RecoverReport& report) {
    doubts_ = nothing_trained(graph_, kinds_);
    for (const Recovered& one : report.found) {
      if (one.pattern == kMergedWeights && one.node != kNoNode) merged_.add(one.node);
    }
    for (NodeId id = 0; id < graph_.nodes.size(); ++id) look_at(id);
    tell("W231", fixed_, "layer", "multiplies by a weight that is not trained",
         "multiply by weights that are not trained",
         fmt::format("export with named parameters, or say '{}' if they are fixed",
                     setting("freeze")));
    if (has_bias_or_norm_) {
      tell("W232", bare_, "convolution", "runs into an activation with neither bias nor norm",
           "run into an activation with neither bias nor norm",
           "an exporter may have folded a batch norm away: export in training mode");
    }
    tell("W233", quantised_, "node", "of a quantised network", "of a quantised network",
         "export the network before quantisation to train it");
    tell("W234", merged_, "layer", "reads a weight that the file gives to another module",
         "read weights that the file gives to other modules",
         "exporters merge weights of equal values: make them distinct before the export");
    no_batch();
    return std::move(doubts_);
  }

 private:
  bool has(const std::vector<char>& set, TensorId tensor) const {
    return tensor != kNoTensor && set[tensor] != 0;
  }

  void follow(const Node& node) {
    if (plimsoll::has(node, OpRow::kShapeOf)) return;
    const auto any = [&](const std::vector<char>& set) {
      return std::any_of(node.inputs.begin(), node.inputs.end(),
                         [&](TensorId in) { return has(set, in); });
    };
    const bool fed = any(fed_), weighed = any(weighed_);
    for (const TensorId out : node.outputs) {
      if (out == kNoTensor) continue;
      fed_[out] = fed ? 1 : 0;
      weighed_[out] = weighed ? 1 : 0;
    }
  }

  void look_at(NodeId id) {
    const Node& node = graph_.nodes[id];
    if (multiplies_by_weight(node) && multiplies_by_fixed(node)) fixed_.add(id);
    if (is_quantised(node)) quantised_.add(id);
    if (multiplies_by_weight(node) && node.inputs.size() > 1) look_at_sharing(id);
    const bool convolution = plimsoll::has(node, OpRow::kConvolutional);
    const bool bias = node.inputs.size() > 2 && node.inputs[2] != kNoTensor;
    has_bias_or_norm_ = has_bias_or_norm_ || plimsoll::has(node, OpRow::kNorm) ||
                        (bias && (convolution || plimsoll::has(node, OpRow::kDense)));
    if (convolution && !bias && !reads_input(node) && !reads_norm(node) && !is_untouched(node) &&
        covers_an_area(node) && runs_into_activation(node))
      bare_.add(id);
  }

  // A matrix or filter that no weight is in, beside what the network makes of its input.
  bool multiplies_by_fixed(const Node& node) const {
    for (size_t i = 0; i < std::min<size_t>(node.inputs.size(), 2); ++i) {
      const TensorId in = node.inputs[i],
                     other = node.inputs.size() > 1 ? node.inputs[1 - i] : kNoTensor;
      const bool data = has(fed_, other) || (has(weighed_, other) && depends_on_nodes(other));
      if (in == kNoTensor || !data || (i == 0 && !multiplies_any_two(node))) continue;
      const Tensor& t = graph_.tensors[in];
      const bool array = is_float(t.dtype) && t.shape && t.shape->size() > 1 && !t.has_dims;
      if (array && !has(fed_, in) && !has(weighed_, in) && comes_from_file(in)) return true;
    }
    return false;
  }

  // A product without a place for a bias is no layer's: either operand may be the matrix.
  static bool multiplies_any_two(const Node& node) {
    return plimsoll::has(node, OpRow::kDense) && !is_weight_place(node, 2);
  }

  bool depends_on_nodes(TensorId tensor) const {
    return graph_.tensors[behind_views(graph_, tensor)].producer != kNoNode;
  }

  // Made of the file's own arrays of numbers, not of inputs: seen through whatever computes it.
  bool comes_from_file(TensorId tensor) const {
    std::vector<TensorId> pending{tensor};
    bool array = false;
    for (size_t visited = 0; visited < pending.size(); ++visited) {
      if (visited > 64) return false;
      const Tensor& t = graph_.tensors[pending[visited]];
      if (t.kind == TensorKind::kInput) return false;
      const auto count = t.shape ? elements(*t.shape).constant() : std::nullopt;
      array = array || (t.producer == kNoNode && is_float(t.dtype) && count && *count > 1);
      if (t.producer == kNoNode) continue;
      const Node& maker = graph_.nodes[t.producer];
      if (plimsoll::has(maker, OpRow::kShapeOf)) continue;
      for (const TensorId in : maker.inputs) {
        if (in != kNoTensor) pending.push_back(in);
      }
    }
    return array;
  }

  static bool is_quantised(const Node& node) { return plimsoll::has(node, OpRow::kQuantised); }

  // A first layer may go without a norm (DCGAN, arXiv:1511.06434, section 3).
  bool reads_input(const Node& node) const {
    return graph_.tensors[behind_views(graph_, node.inputs[0])].kind == TensorKind::kInput;
  }

  // A block that norms what it reads has no norm after its layers (visformer's MLPs).
  bool reads_norm(const Node& node) const {
    const NodeId maker = graph_.tensors[behind_views(graph_, node.inputs[0])].producer;
    return maker != kNoNode && plimsoll::has(graph_.nodes[maker], OpRow::kNorm);
  }

  // Whoever folds a norm into a weight gives it another name, or says so beside the node: a
  // module's own weight under its own name has had none (GCViT's convolutions).
  bool is_untouched(const Node& node) const {
    return !node.module.empty() && !node.notes.norm_merged &&
           graph_.tensors[node.inputs[1]].name == node.module + ".weight";
  }

  // Images have extents beside batch and channels; what is squeezed out of them has not.
  bool covers_an_area(const Node& node) const {
    const auto& shape = graph_.tensors[node.outputs[0]].shape;
    return shape && shape->size() > 3 &&
           std::any_of(shape->begin() + 2, shape->end(), [](const Dim& d) { return d != Dim(1); });
  }

  bool runs_into_activation(const Node& node) const {
    const auto readers = readers_[node.outputs[0]];
    return readers.size() == 1 && plimsoll::has(graph_.nodes[readers[0]], OpRow::kRectifier);
  }

  // Modules that multiply by one matrix: shared on purpose, or equal by chance and merged.
  void look_at_sharing(NodeId id) {
    const Node& node = graph_.nodes[id];
    const TensorId weight = behind_views(graph_, node.inputs[1]);
    const Tensor& t = graph_.tensors[weight];
    if (t.kind != TensorKind::kParameter || !is_weight(kinds_[weight]) || node.module.empty())
      return;
    const auto [first, fresh] = modules_.emplace(weight, module_called(node));
    if (!fresh && first->second != module_called(node)) merged_.add(id);
  }

  void no_batch() {
    if (graph_.inputs.empty() || graph_.baked_batch > 0) return;
    const auto has_batch = [&](TensorId id) {
      std::set<std::string> symbols;
      if (graph_.tensors[id].shape) {
        for (const Dim& d : *graph_.tensors[id].shape) d.collect_symbols(symbols);
      }
      return symbols.contains(graph_.batch_symbol);
    };
    if (std::any_of(graph_.inputs.begin(), graph_.inputs.end(), has_batch)) return;
    doubts_.push_back(
        warning("W235", "no input has a batch: a step is one pass over the inputs as they are", {},
                "export with a dynamic batch"));
  }

  void tell(const char* code, const Tally& tally, std::string_view what, std::string_view one,
            std::string_view many, const std::string& help) {
    if (tally.count == 0) return;
    doubts_.push_back(
        warning(code,
                fmt::format("{} {}{} {}", tally.count, what, tally.count == 1 ? "" : "s",
                            tally.count == 1 ? one : many),
                {.file = {}, .node = describe(graph_, tally.first)}, help));
  }

  const Graph& graph_;
  const std::vector<WeightRole>& kinds_;
  const Consumers readers_;
  std::vector<char> weighed_, fed_;  // tensors that a weight or a buffer, that float inputs are in
  std::map<TensorId, std::string_view> modules_;
  Tally fixed_, bare_, quantised_, merged_;
  bool has_bias_or_norm_ = false;
  Diagnostics doubts_;
};

}  // namespace

Diagnostics nothing_trained(const Graph& graph, const std::vector<WeightRole>& kinds) {
  int64_t trained = 0, frozen = 0, unreached = 0;
  for (TensorId id = 0; id < kinds.size(); ++id) {
    if (graph.tensors[id].kind != TensorKind::kParameter) continue;
    trained += kinds[id] == WeightRole::kTrained ? 1 : 0;
    frozen += kinds[id] == WeightRole::kFrozen ? 1 : 0;
    unreached += kinds[id] == WeightRole::kUnreached ? 1 : 0;
  }
  if (trained > 0) return {};
  if (unreached > 0) {
    return {warning(
        "W230",
        fmt::format("the loss depends on none of {} weights: nothing is trained", unreached), {},
        "name an output that depends on weights")};
  }
  if (frozen > 0) {
    return {warning("W230", fmt::format("all {} weights are frozen: nothing is trained", frozen),
                    {}, setting("train", "GLOB") + " names weights to train")};
  }
  return {warning("W230", "the network has no weights: nothing is trained", {},
                  fmt::format("use {}, or export with the weights as initializers",
                              setting("mode", "inference")))};
}

Diagnostics weight_doubts(const Graph& graph, const std::vector<WeightRole>& kinds,
                          const RecoverReport& report) {
  return DoubtSearch(graph, kinds).run(report);
}

}  // namespace plimsoll
