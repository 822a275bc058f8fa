#include "graph/ir/training_plan.h"

namespace plimsoll {

TrainingPlan plan_for(const Graph& graph, std::vector<OutputLoss> losses) {
  TrainingPlan plan;
  plan.networks.push_back({.name = {},
                           .first = 0,
                           .last = static_cast<NodeId>(graph.nodes.size()),
                           .inputs = graph.inputs,
                           .outputs = graph.outputs,
                           .losses = std::move(losses)});
  plan.phases.push_back({.trained = 0, .forward_only = {}, .through = {}});
  return plan;
}

PlannedNetwork append_network(Graph& graph, Graph other, const std::string& name,
                              std::vector<OutputLoss> losses) {
  const auto first_tensor = static_cast<TensorId>(graph.tensors.size());
  const auto first_node = static_cast<NodeId>(graph.nodes.size());
  const std::string prefix = name + ".";
  const auto moved = [&](std::vector<TensorId> ids) {
    for (TensorId& id : ids) {
      if (id != kNoTensor) id += first_tensor;
    }
    return ids;
  };
  for (Tensor& tensor : other.tensors) {
    tensor.name = prefix + tensor.name;
    if (tensor.producer != kNoNode) tensor.producer += first_node;
    graph.tensors.push_back(std::move(tensor));
  }
  for (Node& node : other.nodes) {
    if (!node.name.empty()) node.name = prefix + node.name;
    node.module = node.module.empty() ? name : prefix + node.module;
    node.inputs = moved(std::move(node.inputs));
    node.outputs = moved(std::move(node.outputs));
    graph.nodes.push_back(std::move(node));
  }
  for (OutputLoss& loss : losses) {
    if (loss.output != kNoTensor) loss.output += first_tensor;
  }
  PlannedNetwork network{.name = name,
                         .first = first_node,
                         .last = static_cast<NodeId>(graph.nodes.size()),
                         .inputs = moved(std::move(other.inputs)),
                         .outputs = moved(std::move(other.outputs)),
                         .losses = std::move(losses)};
  graph.inputs.insert(graph.inputs.end(), network.inputs.begin(), network.inputs.end());
  graph.outputs.insert(graph.outputs.end(), network.outputs.begin(), network.outputs.end());
  graph.defaults.insert(other.defaults.begin(), other.defaults.end());
  graph.opset = other.opset;
  return network;
}

}  // namespace plimsoll
