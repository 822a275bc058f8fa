#include "graph/parallel/expert_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "graph/base/setting.h"
#include "graph/ops/op_row.h"

namespace plimsoll::parallel {
namespace {

// Of rows by the matrices of their groups: as many rows come of it.
bool is_product(const Graph& graph, const Node& node) {
  if (!has(node, OpRow::kDense) || node.inputs.size() < 2 || node.outputs.empty()) return false;
  const auto rank = [&](TensorId id) {
    const auto& shape = graph.tensors[id].shape;
    return shape ? shape->size() : 0;
  };
  return rank(node.inputs[1]) == 3 && rank(node.outputs[0]) == 2;
}

// The initializer that views show in another shape.
TensorId matrix_shown_by(const Graph& graph, TensorId id) {
  while (graph.tensors[id].kind != TensorKind::kParameter) {
    const NodeId maker = graph.tensors[id].producer;
    if (maker == kNoNode || !has(graph.nodes[maker], OpRow::kView)) return kNoTensor;
    id = graph.nodes[maker].inputs.front();
  }
  return id;
}

void place(const Graph& graph, TensorId id, ExpertSplit& split) {
  const auto& shape = graph.tensors[id].shape;
  if (!shape || shape->empty()) return;
  const int64_t experts = shape->front().constant().value_or(0);
  if (experts == 0) return;
  split.weights[id] = {Axis::kExpert, 0};
  split.experts = split.experts == 0 ? experts : std::min(split.experts, experts);
}

// Offsets [experts, out], of which each row picks its group's.
void place_offsets(const Graph& graph, const std::string& module, ExpertSplit& split) {
  for (const Node& node : graph.nodes) {
    if (node.module != module || has(node, OpRow::kDense) || node.inputs.empty() ||
        node.inputs.front() == kNoTensor)
      continue;
    const TensorId from = node.inputs.front();
    const Tensor& t = graph.tensors[from];
    const bool rows = t.kind == TensorKind::kParameter && t.shape && t.shape->size() == 2 &&
                      t.shape->front() == Dim(split.experts);
    if (rows) place(graph, from, split);
  }
}

}  // namespace

ExpertSplit split_experts(const Graph& graph) {
  ExpertSplit split;
  std::map<std::string, std::pair<NodeId, NodeId>> layers;  // by module
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (!is_product(graph, node)) continue;
    const TensorId weight = matrix_shown_by(graph, node.inputs[1]);
    if (weight == kNoTensor) {
      ++split.adapted;
      continue;
    }
    place(graph, weight, split);
    layers.try_emplace(node.module, id, id).first->second.second = id;
  }
  for (const auto& [module, ends] : layers) {
    split.begins.insert(ends.first);
    split.ends.insert(ends.second);
    place_offsets(graph, module, split);
  }
  return split;
}

Result<void> check_experts(const ExpertSplit& split, const Recipe& recipe) {
  const int64_t ranks = recipe.parallel.mesh.extent(Axis::kExpert);
  if (ranks == 1) return {};
  const std::string called = setting("ep", std::to_string(ranks));
  if (split.adapted > 0) {
    // peft 0.21 (tuners/lora/model.py, _SUPPORTED_TP_PLANS) has no plan for them.
    return error("E120", called + ": no program splits adapters of experts between GPUs", {},
                 "name other layers, such as " + setting("lora-targets", "q_proj,v_proj") +
                     ", or leave " + setting("ep") + " out");
  }
  if (split.weights.empty()) {
    return error("E120", called + ": the network has no layers of experts", {},
                 "leave " + setting("ep") + " out");
  }
  if (recipe.finetune.quantize) {
    return error("E120", called + ": no program trains quantized experts that GPUs share", {},
                 "leave " + setting("ep") + " out, or train with " + setting("finetune", "lora"));
  }
  if (split.experts % ranks == 0) return {};
  int64_t nearest = std::min(ranks, split.experts);
  while (split.experts % nearest != 0) --nearest;
  return error(
      "E120",
      fmt::format("{}: the number of GPUs does not divide {} experts", called, split.experts), {},
      "nearest that works: " + setting("ep", std::to_string(nearest)));
}

}  // namespace plimsoll::parallel
