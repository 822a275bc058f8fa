// Multi-head attention with its projections, and attention without them.
#include <fmt/format.h>

#include "graph/config/layer.h"
#include "graph/config/windows.h"
#include "graph/ir/module_path.h"

namespace plimsoll::config {
namespace {

constexpr Key kKeys[] = {
    {"heads", KeyKind::kInteger, kRequired, "query heads"},
    {"kv_heads", KeyKind::kInteger, kOptional,
     "key and value heads; as many as heads where absent"},
    {"head_size", KeyKind::kExtent, kOptional, "features of a head; size / heads where absent"},
    {"size", KeyKind::kExtent, kOptional, "output features; those of the query where absent"},
    {"causal", KeyKind::kFlag, "false", "a position sees those before it only"},
    {"padded", KeyKind::kFlag, "false",
     "code that writes attention out adds a mask of padding, as BERT's does"},
    {"dropout", KeyKind::kRate, "0", "of the attention weights"},
    {"bias", KeyKind::kFlag, "true", "of the projections"},
    {"packed", KeyKind::kFlag, "false",
     "one projection makes query, key and value (self-attention)"},
};

constexpr Key kTorchKeys[] = {
    {"heads", KeyKind::kInteger, kRequired, "heads"},
    {"weights", KeyKind::kFlag, "true",
     "the attention weights are made, as need_weights, PyTorch's default, asks: no fused kernel"},
    {"causal", KeyKind::kFlag, "false",
     "a position sees those before it only; without \"weights\""},
    {"dropout", KeyKind::kRate, "0", "of the attention weights"},
    {"bias", KeyKind::kFlag, "true", "of the projections"},
};

constexpr Key kHeadsKeys[] = {
    {"heads", KeyKind::kInteger, kRequired, "heads that the features are cut into"},
};
constexpr Key kAttendKeys[] = {
    {"causal", KeyKind::kFlag, "true", "a position sees those before it only"},
    {"dropout", KeyKind::kRate, "0", "of the attention weights"},
    {"window", KeyKind::kInteger, "0", "keys that a position sees; 0: all", 0},
    {"softcap", KeyKind::kFlag, "false", "scores go through a tanh that caps them"},
    {"softmax", KeyKind::kChoice, "fp32", "the type that separate code takes the softmax in", 1,
     "fp32|stored"},
    {"scores", KeyKind::kChoice, "stored",
     "the type that separate code takes the products of queries and keys in", 1, "stored|fp32"},
    {"masked", KeyKind::kFlag, "false", "code that makes a mask whether it is needed or not"},
    {"apart", KeyKind::kFlag, "false", "code that calls it for each sample by itself"},
    {"alibi", KeyKind::kChoice, "none",
     "a line for each head, the last input, that is added to the scores; or that their product, of "
     "all heads of all samples at once, is added into",
     1, "none|added|product"},
    {"sinks", KeyKind::kFlag, "false",
     "learned scores, one for each head, of a key that has no value"},
    {"shifted", KeyKind::kFlag, "false",
     "code that subtracts the largest score of each row before the softmax"},
    {"groups", KeyKind::kFlag, "true", "code that repeats keys and values for all query heads"},
    {"weights", KeyKind::kChoice, "block",
     "whose code has a name for the weights that separate code makes, until it returns", 1,
     "block|module"},
    {"latent", KeyKind::kInteger, "0",
     "features that a cache of positions keeps in place of keys and values; 0: it keeps those", 0},
};

constexpr Key kDeltaKeys[] = {
    {"kernel", KeyKind::kInteger, "0",
     "positions that a cache keeps of what its inputs are convolved from", 0},
};

constexpr Key kAlibiKeys[] = {
    {"heads", KeyKind::kInteger, kRequired, "heads"},
    {"length", KeyKind::kExtent, kRequired, "positions"},
    {"each", KeyKind::kFlag, "false", "lines of each sample, in the model's type; else in 32 bits"},
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
  const TensorId context = layer.composite("Attention", std::move(inputs),
                                           {{"causal", int64_t{layer.flag("causal")}},
                                            {"padded", int64_t{layer.flag("padded")}},
                                            {"dropout", layer.real("dropout")}});
  const TensorId turned =
      layer.node("Transpose", {context}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  const TensorId joined =
      layer.node("Reshape", {turned, layer.constant({0, 0, heads.size * Dim(heads.queries)})});
  return {project(layer, "output", joined, size)};
}

// torch.nn.MultiheadAttention, batch_first (torch/nn/functional.py, multi_head_attention_forward
// and _in_projection_packed). Sequences come first inside: [S, N, E].
class TorchAttention {
 public:
  explicit TorchAttention(Layer& layer)
      : l(layer),
        size(l.extent_of(l.input(), -1)),
        batch(l.extent_of(l.input(), 0)),
        heads(l.integer("heads")),
        head_size(group_share(l, "heads", size)) {}

  std::vector<TensorId> run() {
    if (l.flag("weights") && l.flag("causal"))
      l.fail_at("causal", "E348", "\"causal\" needs \"weights\": false");
    const std::vector<TensorId> projected = project_in();
    return l.flag("weights") ? weighted(projected) : fused(projected);
  }

 private:
  TensorId turned(TensorId x, std::vector<int64_t> perm) {
    return l.node("Transpose", {x}, {{"perm", std::move(perm)}});
  }
  TensorId reshaped(TensorId x, std::vector<Dim> shape) {
    return l.node("Reshape", {x, l.constant(std::move(shape))});
  }
  Dim steps_of(TensorId x) { return l.extent_of(x, 0); }
  std::vector<TensorId> cut(TensorId x, const Dim& first, const Dim& second) {
    Node node;
    node.op = "Split";
    node.attributes.set("axis", int64_t{0});
    node.inputs = {x, l.constant({first, second})};
    return l.nodes(std::move(node), 2);
  }
  TensorId linear(TensorId x, TensorId weight, TensorId bias) {
    std::vector<TensorId> inputs{x, weight};
    if (bias != kNoTensor) inputs.push_back(bias);
    return l.composite("Linear", std::move(inputs));
  }

  // `parts` projections that one product made, [S, N, parts*E], copied apart.
  std::vector<TensorId> unpacked(TensorId x, int64_t parts) {
    const TensorId apart = reshaped(x, {steps_of(x), batch, parts, size});
    const TensorId copy = l.composite("Contiguous", {turned(apart, {2, 0, 1, 3})});
    std::vector<TensorId> each;
    for (int64_t i = 0; i < parts; ++i)
      each.push_back(l.node("Gather", {copy, l.constant_scalar(i)}, {{"axis", int64_t{0}}}));
    return each;
  }

  // Query, key and value, each [S, N, E].
  std::vector<TensorId> project_in() {
    const Dim three = Dim(3) * size;
    const TensorId weight = l.parameter("in_proj_weight", {three, size});
    const TensorId bias = l.flag("bias") ? l.parameter("in_proj_bias", {three}) : kNoTensor;
    const TensorId x = turned(l.input(), {1, 0, 2});
    if (l.inputs() < 2 || l.input(1) == l.input()) return unpacked(linear(x, weight, bias), 3);
    const std::vector<TensorId> weights = cut(weight, size, Dim(2) * size);
    const std::vector<TensorId> biases =
        bias == kNoTensor ? std::vector<TensorId>(2, kNoTensor) : cut(bias, size, Dim(2) * size);
    const TensorId memory = turned(l.input(1), {1, 0, 2});
    const TensorId query = linear(x, weights[0], biases[0]);
    const std::vector<TensorId> rest = unpacked(linear(memory, weights[1], biases[1]), 2);
    return {query, rest[0], rest[1]};
  }

  // [S, N, E] -> [N*heads, S, E/heads]
  TensorId folded(TensorId x) {
    return turned(reshaped(x, {steps_of(x), batch * Dim(heads), head_size}), {1, 0, 2});
  }
  // [N, heads, S, E/heads]
  TensorId split_heads(TensorId x) {
    return reshaped(folded(x), {batch, heads, steps_of(x), head_size});
  }

  // `context` has steps first and lies in order; the last projection takes rows.
  TensorId project_out(TensorId context, const Dim& steps) {
    const TensorId weight = l.parameter("out_proj.weight", {size, size});
    const TensorId bias = l.flag("bias") ? l.parameter("out_proj.bias", {size}) : kNoTensor;
    const TensorId rows = linear(reshaped(context, {steps * batch, size}), weight, bias);
    return turned(reshaped(rows, {steps, batch, size}), {1, 0, 2});
  }

  std::vector<TensorId> fused(const std::vector<TensorId>& p) {
    const TensorId context =
        l.composite("Attention", {split_heads(p[0]), split_heads(p[1]), split_heads(p[2])},
                    {{"causal", int64_t{l.flag("causal")}}, {"dropout", l.real("dropout")}});
    const TensorId copy = l.composite("Contiguous", {turned(context, {2, 0, 1, 3})});
    return {project_out(copy, steps_of(p[0]))};
  }

  std::vector<TensorId> weighted(const std::vector<TensorId>& p) {
    const double dropout = l.real("dropout");
    const TensorId query = l.node("Mul", {folded(p[0]), l.scalar(0.5)});  // by 1/sqrt(E/heads)
    TensorId weights = l.node("MatMul", {query, turned(folded(p[1]), {0, 2, 1})});
    weights = l.node("Softmax", {weights}, {{"axis", int64_t{-1}}});
    if (dropout > 0) weights = l.node("Dropout", {weights, l.scalar(dropout), l.truth()});
    const TensorId context = l.node("MatMul", {weights, folded(p[2])});
    const TensorId copy = l.composite("Contiguous", {turned(context, {1, 0, 2})});
    const TensorId y = project_out(copy, steps_of(p[0]));
    const TensorId apart = reshaped(weights, {batch, heads, steps_of(p[0]), steps_of(p[1])});
    const TensorId mean =
        l.node("ReduceMean", {apart, l.constant({1})}, {{"keepdims", int64_t{0}}});
    return {y, mean};
  }

  Layer& l;
  Dim size, batch;
  int64_t heads;
  Dim head_size;
};

std::vector<TensorId> torch_attention(Layer& layer) { return TorchAttention(layer).run(); }

std::vector<TensorId> heads(Layer& layer) {
  const int64_t count = layer.integer("heads");
  const Dim size = group_share(layer, "heads", layer.extent_of(layer.input(), -1));
  return {split_heads(layer, layer.input(), count, size)};
}

std::vector<TensorId> join_heads(Layer& layer) {
  const Dim size = layer.extent_of(layer.input(), 1) * layer.extent_of(layer.input(), 3);
  const TensorId swapped =
      layer.node("Transpose", {layer.input()}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  const TensorId copy = layer.composite("Contiguous", {swapped});
  return {layer.node("Reshape", {copy, layer.constant({0, 0, size})})};
}

// "model.layers.0" of "model.layers.0.self_attn.attend": the block that a layer is in, or the
// module.
std::string block_around(std::string_view path) {
  std::string_view block = module_of(path);
  while (!block.empty() && !is_number(last_part(block)))
    block = block.substr(0, block.find('.') == block.npos ? 0 : block.rfind('.'));
  return std::string(block.empty() ? module_of(path) : block);
}

// What transformers calls an attention interface: what runs is a choice of the user's.
std::vector<TensorId> attend(Layer& layer) {
  std::vector<TensorId> inputs;
  for (size_t i = 0; i < layer.inputs(); ++i) inputs.push_back(layer.input(i));
  const auto queries = layer.extent_of(inputs[0], 1).constant();
  const auto keys = layer.extent_of(inputs[1], 1).constant();
  if (queries && keys && *keys > 0 && *queries % *keys != 0)
    layer.fail("E342", fmt::format("{} heads do not share {} key heads evenly", *queries, *keys));
  const std::string alibi = layer.text("alibi");
  TensorId line = kNoTensor;
  if (alibi != "none") {
    line = inputs.back();
    inputs.pop_back();
  }
  if (layer.flag("sinks") || alibi == "added") {
    inputs.resize(5, kNoTensor);
    if (layer.flag("sinks"))
      inputs[4] = layer.parameter("sinks", {layer.extent_of(layer.input(), 1)});
    if (alibi == "added") inputs.push_back(line);
  }
  Node node;
  node.op = "Attention";
  node.domain = "plimsoll";
  for (const Layer::Attribute& attribute : std::initializer_list<Layer::Attribute>{
           {"code", std::string("transformers")},
           {"by_rows", int64_t{alibi == "product"}},
           {"wide_scores", int64_t{layer.text("scores") == "fp32"}},
           {"masked", int64_t{layer.flag("masked")}},
           {"apart", int64_t{layer.flag("apart")}},
           {"causal", int64_t{layer.flag("causal")}},
           {"dropout", layer.real("dropout")},
           {"window", layer.integer("window")},
           {"softcap", int64_t{layer.flag("softcap")}},
           {"shifted", int64_t{layer.flag("shifted")}},
           {"wide", int64_t{layer.text("softmax") == "fp32"}},
           {"latent", layer.integer("latent")},
           {"grouped", int64_t{layer.flag("groups")}}})
    node.attributes.set(attribute.name, attribute.value);
  node.inputs = std::move(inputs);
  // Its second output, the weights; most modules return them up to the block: `hidden_states, _ =
  // self.self_attn(...)` (transformers 5.24, modeling_llama.py; None of PyTorch's operator).
  const bool returned = layer.text("weights") == "block";
  node.notes.local_to = returned ? block_around(layer.path) : std::string(module_of(layer.path));
  return {layer.nodes(std::move(node), 2).front()};
}

// build_mpt_alibi_tensor(), BloomModel.forward(): slopes times distances.
std::vector<TensorId> alibi(Layer& layer) {
  const Dim heads = layer.integer("heads"), length = layer.extent("length");
  const TensorId slopes = layer.node("ConstantOfShape", {layer.constant({heads, Dim(1), Dim(1)})});
  const TensorId distances = layer.node("ConstantOfShape", {layer.constant({length})});
  const TensorId lines = layer.node("Mul", {layer.cast(slopes, Layer::Cast::kWidens), distances});
  if (!layer.flag("each")) return {lines};
  const TensorId all = layer.node(
      "Tile", {lines, layer.constant({layer.extent_of(layer.input(), 0), Dim(1), Dim(1)})});
  return {layer.cast(all, Layer::Cast::kNarrows)};
}

std::vector<TensorId> causal_mask(Layer& layer) {
  const Dim samples = layer.extent_of(layer.input(), 0), steps = layer.extent_of(layer.input(), 1);
  const TensorId numbers =
      layer.node("ConstantOfShape", {layer.constant({samples, Dim(1), steps, steps})});
  return {layer.node("Cast", {numbers}, {{"to", int64_t{9}}})};  // ONNX's BOOL
}

std::vector<TensorId> additive_scores(Layer& layer) {
  const TensorId weight = layer.parameter("weight", {layer.extent_of(layer.input(), -1)});
  return {layer.composite("AdditiveScores", {layer.input(0), layer.input(1), weight})};
}

std::vector<TensorId> gated_delta_rule(Layer& layer) {
  std::vector<TensorId> inputs;
  for (size_t i = 0; i < layer.inputs(); ++i) inputs.push_back(layer.input(i));
  return {
      layer.composite("GatedDeltaRule", std::move(inputs), {{"kernel", layer.integer("kernel")}})};
}

constexpr LayerType kAttentionLayers[] = {
    {"attention", 1, 3, kKeys, attention,
     "multi-head attention of [N, S, E]; inputs query, memory (for keys and values), mask"},
    {"multihead_attention", 1, 2, kTorchKeys, torch_attention,
     "torch.nn.MultiheadAttention of [N, S, E]; inputs query, memory; outputs y, weights (:1)"},
    {"heads", 1, 1, kHeadsKeys, heads, "[N, S, H*D] seen as [N, H, S, D]"},
    {"join_heads", 1, 1, {}, join_heads, "[N, H, S, D] as [N, S, H*D]"},
    {"attend", 3, 5, kAttendKeys, attend,
     "attention without projections; inputs query [N, H, S, D], key, value, mask, alibi"},
    {"gated_delta_rule", 5, 5, kDeltaKeys, gated_delta_rule,
     "linear attention with a state that decays; inputs query, key [N, S, heads of keys, D], value "
     "[N, S, heads, E], decay and beta [N, S, heads]"},
    {"alibi", 1, 1, kAlibiKeys, alibi, "lines [heads, 1, length] of distances from each key"},
    {"causal_mask",
     1,
     1,
     {},
     causal_mask,
     "what positions of [N, S, ...] do not see: [N, 1, S, S]"},
    {"additive_scores",
     2,
     2,
     {},
     additive_scores,
     "v . tanh(q + k) of queries [N, T, H] and keys [N, S, H], query by query"},
};

}  // namespace

std::span<const LayerType> attention_layers() { return kAttentionLayers; }

}  // namespace plimsoll::config
