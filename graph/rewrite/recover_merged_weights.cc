#include <algorithm>
#include <map>
#include <set>

#include "graph/exporter/weight_places.h"
#include "graph/ir/module_path.h"
#include "graph/ops/op_row.h"
#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

// A weight of a layer or norm, by the module that reads it: ("layer1.0.bn1", "bias").
using Owner = std::pair<std::string_view, std::string_view>;

constinit const Fragment kLayerWithBias("y = Conv|ConvTranspose|Gemm(x, w)");
constinit const Fragment kProductWith("y = MatMul(x, w)"), kTurned("y = Transpose(w)");
constinit const Fragment kSumWith("y = Add(MatMul(_), bias)");
constinit const Fragment kAlias("y = Identity(_)"), kDense("y = Gemm(x, w)");

// What a node reads at `input`, of a layer's own arrays; empty where it is none.
std::string_view part_at(const Rewrite& r, NodeId id, size_t input) {
  static constexpr const char* kParts[] = {"weight", "bias", "running_mean", "running_var"};
  const Node& node = r.node(id);
  const bool norm = has(node, OpRow::kNorm);
  if (norm && node.notes.plain_norm) return {};
  if (norm && input >= 1 && input <= 4) return kParts[input - 1];
  const bool layer = kLayerWithBias.at(r, id).has_value();
  if ((layer || kProductWith.at(r, id)) && input == 1) return kParts[0];
  if (layer && input == 2) return kParts[1];
  if (kTurned.at(r, id)) {
    const auto product = kProductWith.at(r, r.only_reader(node.outputs[0]));
    return product && (*product)["w"] == node.outputs[0] ? kParts[0] : std::string_view();
  }
  const auto sum = kSumWith.at(r, id);
  return sum && (*sum)["bias"] == node.inputs[input] ? kParts[1] : std::string_view();
}

struct Use {
  NodeId reader;
  size_t input;
};

// TorchScript's exporter gives a merged array back under each of its names.
void read_directly(Rewrite& r, TensorId array) {
  const std::vector<NodeId> readers = r.readers(array);
  for (const NodeId id : readers) {
    if (r.is_removed(id) || !kAlias.at(r, id)) continue;
    const TensorId alias = r.node(id).outputs[0];
    const std::vector<NodeId> others = r.readers(alias);
    for (const NodeId reader : others) r.read_instead(reader, alias, array);
  }
}

// "layers.0.fc" and "layers.1.fc": the same layer of repeated blocks.
bool differ_in_numbers(std::string_view a, std::string_view b) {
  const auto without = [](std::string_view path) {
    std::string rest(path);
    std::erase_if(rest, [](char c) { return c >= '0' && c <= '9'; });
    return rest;
  };
  return without(a) == without(b);
}

// Gives every owner but the first a parameter of its own.
void separate(Finder& f, TensorId array, const std::map<Owner, std::vector<Use>>& uses) {
  Rewrite& r = f.r;
  const std::string name = r.tensor(array).name;
  const Owner own{module_of(name), last_part(name)};
  const Owner keeper = uses.contains(own) ? own : uses.begin()->first;
  const bool vector = r.rank(array) == 1;
  for (const auto& [owner, places] : uses) {
    if (owner == keeper || !(vector || differ_in_numbers(owner.first, keeper.first))) continue;
    const Tensor& t = r.tensor(array);
    const std::string_view part = own.second.ends_with(owner.second) ? own.second : owner.second;
    const std::string path = std::string(owner.first) + "." + std::string(part);
    const TensorId copy = r.add_parameter(path, t.dtype, Shape(*t.shape));
    for (const Use& use : places) r.read_at(use.reader, use.input, copy);
    f.note(kMergedWeights, places.front().reader, r.removed_count());
  }
}

}  // namespace

// PyTorch's exporters write arrays of equal values once: the ones and zeros that scales, shifts and
// biases begin with, and what blocks that were copied from one begin with. The module of each
// reader says whose they were. A matrix that modules of different names read is shared on purpose.
void merged_weights(Finder& f) {
  Rewrite& r = f.r;
  if (r.graph().exporter != Exporter::kPyTorch) return;
  const size_t tensors = r.graph().tensors.size();
  for (TensorId id = 0; id < tensors; ++id) {
    const Tensor& t = r.tensor(id);
    const bool array = t.kind == TensorKind::kParameter && is_float(t.dtype) && t.shape &&
                       !t.shape->empty() && t.origin != Origin::kGenerated;
    if (!array || r.readers(id).size() < 2) continue;
    read_directly(r, id);
    std::map<Owner, std::vector<Use>> uses;
    const std::set<NodeId> readers(r.readers(id).begin(), r.readers(id).end());
    for (const NodeId reader : readers) {
      const Node& node = r.node(reader);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const std::string_view part = node.inputs[i] == id ? part_at(r, reader, i) : "";
        if (!part.empty() && !node.module.empty())
          uses[{module_called(node), part}].push_back({reader, i});
      }
    }
    if (uses.size() > 1) separate(f, id, uses);
  }
}

// PyTorch's newer exporter drops a linear layer's bias of zeros, what it begins with, and says so.
void removed_biases(Finder& f) {
  Rewrite& r = f.r;
  for (NodeId id = 0; id < r.nodes(); ++id) {
    const Node& node = r.node(id);
    const bool lacks = node.notes.bias_removed && !node.notes.norm_merged && !r.is_removed(id) &&
                       node.inputs.size() == 2 && kDense.at(r, id);
    if (!lacks) continue;
    const Tensor& y = r.tensor(node.outputs[0]);
    if (!y.shape || y.shape->empty()) continue;
    const std::string& weight = r.tensor(node.inputs[1]).name;
    const bool named = weight.find('.') != weight.npos;
    const std::string module(named ? module_of(weight) : std::string_view(node.module));
    r.add_input(id, r.add_parameter(module + ".bias", y.dtype, {y.shape->back()}));
    f.note("bias of zeros, dropped by the exporter", id, r.removed_count());
  }
}

}  // namespace plimsoll::patterns
