#include "graph/train/language_head.h"

#include <algorithm>

#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

bool is_weight(const Graph& graph, TensorId id) {
  return id != kNoTensor && graph.tensors[id].kind == TensorKind::kParameter &&
         graph.tensors[id].shape && graph.tensors[id].shape->size() == 2 &&
         !graph.tensors[id].quantized;
}

bool is_linear(const Graph& graph, const Node& node) {
  return has(node, OpRow::kDense) && has(node, OpRow::kOutputsFirst) && node.inputs.size() == 2 &&
         is_weight(graph, node.inputs[1]);
}

// The one value that the node reads; kNoTensor where it reads several.
TensorId only_value(const Graph& graph, const Node& node) {
  TensorId only = kNoTensor;
  for (const TensorId in : node.inputs) {
    if (in == kNoTensor || graph.tensors[in].kind == TensorKind::kParameter || in == only) continue;
    if (only != kNoTensor) return kNoTensor;
    only = in;
  }
  return only;
}

}  // namespace

std::optional<LanguageHead> find_language_head(const Graph& graph,
                                               const std::vector<TensorId>& outputs) {
  if (outputs.empty()) return std::nullopt;
  LanguageHead head{.scores = outputs.front()};
  auto end = static_cast<NodeId>(graph.nodes.size());
  for (TensorId at = head.scores; at != kNoTensor; at = only_value(graph, graph.nodes[end])) {
    const NodeId maker = graph.tensors[at].producer;
    // Each is made by the node right before the last one: nothing else runs after the layer.
    if (maker == kNoNode || maker + 1 != end || graph.nodes[maker].outputs.size() != 1)
      return std::nullopt;
    end = maker;
    const Node& node = graph.nodes[maker];
    if (!is_linear(graph, node)) continue;
    head.first = maker;
    head.hidden = node.inputs[0];
    head.weight = node.inputs[1];
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

}  // namespace plimsoll
