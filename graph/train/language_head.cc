#include "graph/train/language_head.h"

#include <algorithm>

#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

// Nodes of a layer, its adapter with casts, a soft cap and casts of scores: more than there are.
constexpr NodeId kLongestHead = 32;

bool is_linear(const Graph& graph, const Node& node) {
  if (!has(node, OpRow::kDense) || !has(node, OpRow::kOutputsFirst) || node.inputs.size() != 2)
    return false;
  const TensorId weight = node.inputs[1];
  return weight != kNoTensor && graph.tensors[weight].kind == TensorKind::kParameter &&
         graph.tensors[weight].shape && graph.tensors[weight].shape->size() == 2;
}

// What the nodes from `first` on read that none of them made; nothing of parameters.
std::vector<TensorId> values_before(const Graph& graph, NodeId first) {
  std::vector<TensorId> values;
  for (NodeId id = first; id < graph.nodes.size(); ++id) {
    for (const TensorId in : graph.nodes[id].inputs) {
      if (in == kNoTensor || graph.tensors[in].kind == TensorKind::kParameter) continue;
      const NodeId maker = graph.tensors[in].producer;
      const bool inside = maker != kNoNode && maker >= first;
      if (!inside && std::ranges::count(values, in) == 0) values.push_back(in);
    }
  }
  return values;
}

}  // namespace

// An adapter's layers have the module of the layer that they are beside.
std::optional<LanguageHead> find_language_head(const Graph& graph,
                                               const std::vector<TensorId>& outputs) {
  const auto end = static_cast<NodeId>(graph.nodes.size());
  if (outputs.empty() || end == 0) return std::nullopt;
  LanguageHead head{.scores = outputs.front()};
  if (graph.tensors[head.scores].producer + 1 != end) return std::nullopt;
  NodeId layer = kNoNode;  // the last one
  for (NodeId id = end; id-- > 0 && end - id <= kLongestHead;) {
    const Node& node = graph.nodes[id];
    if (node.outputs.size() != 1 || (id + 1 < end && std::ranges::count(outputs, node.outputs[0])))
      return std::nullopt;
    const bool linear = is_linear(graph, node);
    if (linear && layer != kNoNode && node.module != graph.nodes[layer].module) return std::nullopt;
    if (linear && layer == kNoNode) layer = id;
    const std::vector<TensorId> before = values_before(graph, id);
    if (!linear || before.size() != 1 || before[0] != node.inputs[0]) continue;
    head.first = id;
    head.hidden = node.inputs[0];
    head.weight = node.inputs[1];
    head.plain = id == layer && !graph.tensors[head.weight].quantized;
    const bool given_out = std::ranges::count(outputs, head.hidden) > 0;
    return given_out ? std::nullopt : std::optional(head);
  }
  return std::nullopt;
}

bool loss_runs_head(const Recipe& recipe) {
  const Mesh& mesh = recipe.parallel.mesh;
  const bool takes_loss = recipe.mode != Mode::kInference || recipe.evaluates;
  return takes_loss && recipe.loss == Loss::kCausalLm && recipe.loss_form >= LossForm::kChunked &&
         mesh.extent(Axis::kTensor) == 1 && mesh.extent(Axis::kStage) == 1;
}

std::optional<LanguageHead> head_of_loss(const Recipe& recipe, const Graph& graph,
                                         const std::vector<TensorId>& outputs) {
  if (!loss_runs_head(recipe)) return std::nullopt;
  const auto head = find_language_head(graph, outputs);
  const bool needs_plain = recipe.loss_form >= LossForm::kFusedLinear;
  return head && needs_plain && !head->plain ? std::nullopt : head;
}

}  // namespace plimsoll
