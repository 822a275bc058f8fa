#include "graph/rewrite/join_projections.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/module_path.h"
#include "graph/ops/op_row.h"
#include "graph/rewrite/pattern.h"
#include "graph/rewrite/patterns.h"

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
  const Tensor weight = r.tensor(r.node(three[0]).inputs[1]);
  std::vector<TensorId> outputs;
  Dim all = 0;
  for (const NodeId id : three) {
    outputs.push_back(r.node(id).outputs[0]);
    all += columns(r, id);
  }
  const NodeId layer = r.copy_before(first, three[0]);
  const std::string& path = r.node(three[0]).module;
  const std::string module =
      fmt::format("{}qkv_proj", path.substr(0, path.size() - last_part(path).size()));
  r.graph().nodes[layer].module = module;
  const TensorId own = frozen_parameter(r, fmt::format("{}.weight", module), weight.dtype,
                                        {all, (*weight.shape)[1]});
  r.read_at(layer, 1, own);
  if (has_bias(r.node(layer)))
    r.read_at(layer, 2, frozen_parameter(r, fmt::format("{}.bias", module), weight.dtype, {all}));
  const TensorId whole = r.node(layer).outputs[0];
  Tensor& made = r.graph().tensors[whole];
  made.shape->back() = all;
  Node split;
  split.op = "Split";
  split.name = split.module = module;
  split.inputs = {whole};
  split.attributes.set("axis", static_cast<int64_t>(made.shape->size()) - 1);
  const NodeId at = r.producer(r.insert_before(first, std::move(split), made.dtype, *made.shape));
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

// The part of layer `id` that makes `output`, as a layer of its own.
void part_layer(Rewrite& r, NodeId id, std::string_view name, TensorId output) {
  const Node& whole = r.node(id);
  const Tensor weight = r.tensor(whole.inputs[1]);
  const bool biased = has_bias(whole);
  const std::string& path = whole.module;
  const std::string module =
      fmt::format("{}{}", path.substr(0, path.size() - last_part(path).size()), name);
  const Dim columns = r.tensor(output).shape->back();
  const NodeId layer = r.copy_before(id, id);
  r.graph().nodes[layer].module = module;
  r.read_at(layer, 1,
            frozen_parameter(r, fmt::format("{}.weight", module), weight.dtype,
                             {columns, (*weight.shape)[1]}));
  if (biased)
    r.read_at(layer, 2,
              frozen_parameter(r, fmt::format("{}.bias", module), weight.dtype, {columns}));
  r.move_output(output, layer, 0);
}

// Queries and keys are joined with those of their features that are not rotated, even with none: a
// copy. Attention's result has its layout, and is copied for the next layer.
void copy_rotated(Rewrite& r, size_t count) {
  for (NodeId id = 0; id < count; ++id) {
    if (r.is_removed(id) || !has(r.node(id), OpRow::kAttends)) continue;
    for (const size_t operand : {size_t{0}, size_t{1}}) {
      const TensorId x = r.node(id).inputs[operand];
      if (r.tensor(x).shape) r.read_at(id, operand, patterns::contiguous_before(r, id, x));
    }
  }
}

constinit const patterns::Fragment kGateParts("a, b = Split(y)");

}  // namespace

void part_gates(Rewrite& r) {
  const size_t count = r.nodes();
  for (NodeId id = 0; id < count; ++id) {
    if (!is_layer(r, id) || last_part(r.node(id).module) != kPackedGates) continue;
    const NodeId split = r.only_reader(r.node(id).outputs[0]);
    if (split == kNoNode || !kGateParts.at(r, split)) continue;
    const std::vector<TensorId> parts = r.node(split).outputs;
    if (parts.size() != kGates.size()) continue;
    for (size_t i = 0; i < kGates.size(); ++i) part_layer(r, id, kGates[i], parts[i]);
  }
}

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
  if (packed.empty()) return packed;
  untie_heads(r, count);
  copy_rotated(r, count);
  return packed;
}

}  // namespace plimsoll
