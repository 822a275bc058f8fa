#include "graph/parallel/expert_layer.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "graph/parallel/layer_matrix.h"

namespace plimsoll::parallel {
namespace {

// The module that both modules are, or are in.
std::string_view around(std::string_view a, std::string_view b) {
  if (a == b) return a;
  const auto [end, other] = std::ranges::mismatch(a, b);
  const std::string_view same = a.substr(0, static_cast<size_t>(end - a.begin()));
  const size_t dot = same.rfind('.');
  return dot == same.npos ? std::string_view() : same.substr(0, dot);
}

bool is_in(std::string_view module, std::string_view outer) {
  return module.starts_with(outer) &&
         (module.size() == outer.size() || module[outer.size()] == '.');
}

ExpertLayer layer_of(const Graph& graph, const Unit& unit, NodeId first, NodeId last) {
  ExpertLayer layer{.first_product = first, .last_product = last};
  const std::string_view module = around(graph.nodes[first].module, graph.nodes[last].module);
  const auto inside = [&](NodeId id) {
    return id != kNoNode && id >= unit.first && id < unit.last &&
           is_in(graph.nodes[id].module, module);
  };
  for (NodeId id = unit.first; id < unit.last; ++id) {
    if (!inside(id)) continue;
    layer.last = id;
    const std::vector<TensorId>& inputs = graph.nodes[id].inputs;
    if (inputs.empty() || inputs[0] == kNoTensor) continue;
    const Tensor& given = graph.tensors[inputs[0]];
    const bool constant = given.kind == TensorKind::kParameter || given.contents;
    if (!constant && !inside(given.producer)) layer.reads.insert(id);
  }
  return layer;
}

}  // namespace

std::vector<ExpertLayer> expert_layers(const Graph& graph, const Unit& unit) {
  std::vector<ExpertLayer> layers;
  std::optional<NodeId> first;
  for (NodeId id = unit.first; id < unit.last; ++id) {
    if (stacked_matrix(graph, id).id == kNoTensor) continue;
    if (!first) {
      first = id;
      continue;
    }
    layers.push_back(layer_of(graph, unit, *first, id));
    first.reset();
  }
  return layers;
}

}  // namespace plimsoll::parallel
