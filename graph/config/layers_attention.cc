// Multi-head attention with its projections, and attention without them.
#include <fmt/format.h>

#include "graph/config/layer.h"
#include "graph/config/windows.h"

namespace plimsoll::config {
namespace {

constexpr Key kKeys[] = {
    {"heads", KeyKind::kInteger, kRequired, "query heads"},
    {"kv_heads", KeyKind::kInteger, kOptional,
     "key and value heads; as many as heads where absent"},
    {"head_size", KeyKind::kExtent, kOptional, "features of a head; size / heads where absent"},
    {"size", KeyKind::kExtent, kOptional, "output features; those of the query where absent"},
    {"causal", KeyKind::kFlag, "false", "a position sees those before it only"},
    {"dropout", KeyKind::kReal, "0", "of the attention weights"},
    {"bias", KeyKind::kFlag, "true", "of the projections"},
    {"packed", KeyKind::kFlag, "false",
     "one projection makes query, key and value (self-attention)"},
};

struct Heads {
  int64_t queries = 1, keys = 1;
  Dim size;  // of one head
};

TensorId project(Layer& layer, std::string_view name, TensorId x, const Dim& out) {
  const std::string prefix = std::string(name) + ".";
  std::vector<TensorId> inputs{x,
                               layer.parameter(prefix + "weight", {out, layer.extent_of(x, -1)})};
  if (layer.flag("bias")) inputs.push_back(layer.parameter(prefix + "bias", {out}));
  return layer.composite("Linear", std::move(inputs));
}

// [N, S, heads*size] -> [N, heads, S, size]
TensorId split_heads(Layer& layer, TensorId x, int64_t heads, const Dim& size) {
  const TensorId shape = layer.constant({0, 0, heads, size});
  const TensorId split = layer.node("Reshape", {x, shape});
  return layer.node("Transpose", {split}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
}

// The three projections, each [N, S, heads*size].
std::vector<TensorId> projections(Layer& layer, const Heads& heads) {
  const Dim queries = heads.size * Dim(heads.queries);
  const Dim keys = heads.size * Dim(heads.keys);
  const TensorId memory = layer.inputs() > 1 ? layer.input(1) : layer.input();
  if (!layer.flag("packed")) {
    return {project(layer, "query", layer.input(), queries), project(layer, "key", memory, keys),
            project(layer, "value", memory, keys)};
  }
  if (memory != layer.input()) layer.fail("E348", "\"packed\" is for self-attention");
  Node node;
  node.op = "Split";
  node.attributes.set("axis", int64_t{-1});
  node.inputs = {project(layer, "qkv", layer.input(), queries + keys + keys),
                 layer.constant({queries, keys, keys})};
  return layer.nodes(std::move(node), 3);
}

Heads read_heads(Layer& layer, const Dim& size) {
  Heads heads;
  heads.queries = layer.integer("heads");
  heads.keys = layer.has("kv_heads") ? layer.integer("kv_heads") : heads.queries;
  heads.size =
      layer.has("head_size") ? layer.extent("head_size") : group_share(layer, "heads", size);
  if (heads.queries % heads.keys != 0) {
    layer.fail_at(
        "kv_heads", "E342",
        fmt::format("{} heads do not share {} key heads evenly", heads.queries, heads.keys));
  }
  return heads;
}

std::vector<TensorId> attention(Layer& layer) {
  const Dim size = layer.has("size") ? layer.extent("size") : layer.extent_of(layer.input(), -1);
  const Heads heads = read_heads(layer, size);
  const std::vector<TensorId> projected = projections(layer, heads);
  std::vector<TensorId> inputs{split_heads(layer, projected[0], heads.queries, heads.size),
                               split_heads(layer, projected[1], heads.keys, heads.size),
                               split_heads(layer, projected[2], heads.keys, heads.size)};
  if (layer.inputs() > 2) inputs.push_back(layer.input(2));
  const TensorId context = layer.composite(
      "Attention", std::move(inputs),
      {{"causal", int64_t{layer.flag("causal")}}, {"dropout", layer.real("dropout")}});
  const TensorId turned =
      layer.node("Transpose", {context}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  const TensorId joined =
      layer.node("Reshape", {turned, layer.constant({0, 0, heads.size * Dim(heads.queries)})});
  return {project(layer, "output", joined, size)};
}

std::vector<TensorId> additive_scores(Layer& layer) {
  const TensorId weight = layer.parameter("weight", {layer.extent_of(layer.input(), -1)});
  return {layer.composite("AdditiveScores", {layer.input(0), layer.input(1), weight})};
}

constexpr LayerType kRows[] = {
    {"attention", 1, 3, kKeys, attention,
     "multi-head attention of [N, S, E]; inputs query, memory (for keys and values), mask"},
    {"additive_scores",
     2,
     2,
     {},
     additive_scores,
     "v . tanh(q + k) of queries [N, T, H] and keys [N, S, H], query by query"},
};

}  // namespace

std::span<const LayerType> attention_layers() { return kRows; }

}  // namespace plimsoll::config
