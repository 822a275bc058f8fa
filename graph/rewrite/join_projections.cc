#include "graph/rewrite/join_projections.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/module_path.h"
#include "graph/rewrite/pattern.h"

namespace plimsoll {
namespace {

constinit const patterns::Fragment kLayer("y = Linear(x)");
constexpr std::array<std::string_view, 2> kPackedNames = {"query_key_value", "qkv_proj"};

bool is_layer(const Rewrite& r, NodeId id) {
  const Node& node = r.node(id);
  if (r.is_removed(id) || !kLayer.at(r, id) || node.inputs.size() < 2) return false;
  const Tensor& weight = r.tensor(node.inputs[1]);
  return weight.kind == TensorKind::kParameter && weight.shape && weight.shape->size() == 2 &&
         r.tensor(node.outputs[0]).shape;
}

Dim columns(const Rewrite& r, NodeId id) { return (*r.tensor(r.node(id).inputs[1]).shape)[0]; }

bool has_bias(const Node& node) { return node.inputs.size() > 2 && node.inputs[2] != kNoTensor; }

// Layers of `first`'s input and module that have the names of the three; fewer where some are not
// there.
std::vector<NodeId> siblings(const Rewrite& r, NodeId first) {
  const Node& node = r.node(first);
  const std::string_view module = node.module;
  const std::string_view parent = module.substr(0, module.size() - last_part(node.module).size());
  std::vector<NodeId> found;
  for (const std::string_view name : kProjections) {
    const std::string path = std::string(parent) + std::string(name);
    const auto& readers = r.readers(node.inputs[0]);
    const auto at = std::ranges::find_if(
        readers, [&](NodeId id) { return r.node(id).module == path && is_layer(r, id); });
    if (at != readers.end()) found.push_back(*at);
  }
  return found;
}

TensorId frozen_parameter(Rewrite& r, std::string name, DType type, Shape shape) {
  const TensorId weight = r.add_parameter(std::move(name), type, std::move(shape));
  r.graph().tensors[weight].weight = true;
  r.graph().tensors[weight].frozen = true;
  return weight;
}

// The weight of the layer that the three become.
TensorId join(Rewrite& r, const std::vector<NodeId>& three) {
  const NodeId first = *std::ranges::min_element(three);
  const Node& node = r.node(three[0]);
  const Tensor& weight = r.tensor(node.inputs[1]);
  const DType type = weight.dtype;
  const Dim width = (*weight.shape)[1];
  Shape shape = *r.tensor(node.outputs[0]).shape;
  shape.back() = columns(r, three[0]) + columns(r, three[1]) + columns(r, three[2]);
  const bool bias = std::ranges::any_of(three, [&](NodeId id) { return has_bias(r.node(id)); });
  const std::string module = fmt::format(
      "{}qkv_proj", node.module.substr(0, node.module.size() - last_part(node.module).size()));
  const DType made = r.tensor(node.outputs[0]).dtype;
  std::vector<TensorId> outputs;
  for (const NodeId id : three) outputs.push_back(r.node(id).outputs[0]);
  std::vector<TensorId> inputs = {
      node.inputs[0],
      frozen_parameter(r, fmt::format("{}.weight", module), type, {shape.back(), width})};
  if (bias)
    inputs.push_back(frozen_parameter(r, fmt::format("{}.bias", module), type, {shape.back()}));
  const TensorId own = inputs[1];
  Node layer = r.beside(three[0], "plimsoll", "Linear", std::move(inputs));
  layer.module = module;
  const TensorId whole = r.insert_before(first, std::move(layer), made, shape);
  Node split = r.beside(three[0], "", "Split", {whole});
  split.module = module;
  split.attributes.set("axis", static_cast<int64_t>(shape.size()) - 1);
  const NodeId at = r.producer(r.insert_before(first, std::move(split), made, shape));
  for (size_t i = 0; i < outputs.size(); ++i) r.move_output(outputs[i], at, i);
  return own;
}

void untie_heads(Rewrite& r, size_t count) {
  for (NodeId id = 0; id < count; ++id) {
    if (!is_layer(r, id) || r.readers(r.node(id).inputs[1]).size() == 1) continue;
    const Tensor table = r.tensor(r.node(id).inputs[1]);
    const std::string name = fmt::format("{}.weight", r.node(id).module);
    r.read_at(id, 1, frozen_parameter(r, name, table.dtype, *table.shape));
  }
}

}  // namespace

PackedWeights join_projections(Rewrite& r) {
  PackedWeights packed;
  const size_t count = r.nodes();
  for (NodeId id = 0; id < count; ++id) {
    if (!is_layer(r, id)) continue;
    const std::string_view name = last_part(r.node(id).module);
    const TensorId weight = r.node(id).inputs[1];
    if (std::ranges::find(kPackedNames, name) != kPackedNames.end()) {
      // Queries are as wide as what they are made of.
      const Dim width = (*r.tensor(weight).shape)[1];
      const Dim rest = floor_div(columns(r, id) - width, Dim(2));
      packed[weight] = {width, rest, rest};
    } else if (name == kProjections[0]) {
      const std::vector<NodeId> three = siblings(r, id);
      if (three.size() != kProjections.size()) continue;
      const std::array<Dim, 3> sizes = {columns(r, three[0]), columns(r, three[1]),
                                        columns(r, three[2])};
      packed[join(r, three)] = sizes;
    }
  }
  if (!packed.empty()) untie_heads(r, count);
  return packed;
}

}  // namespace plimsoll
