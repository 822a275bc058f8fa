// Mixtures of experts in the operators of transformers' code: routers (modeling_mixtral.py,
// modeling_qwen3_moe.py, modeling_deepseek_v3.py) and experts as grouped products
// (integrations/moe.py, grouped_mm_experts_forward, which it runs by default). Which token goes
// where changes no size there. What sorts is priced as reading and writing.
#include <fmt/format.h>

#include "graph/config/layer.h"

namespace plimsoll::config {
namespace {

constexpr Key kRouterKeys[] = {
    {"experts", KeyKind::kInteger, kRequired, "experts to choose from"},
    {"chosen", KeyKind::kInteger, kRequired, "experts of a token"},
    {"scores", KeyKind::kChoice, "softmax", "what the products go through", 1, "softmax|sigmoid"},
    {"normalised", KeyKind::kFlag, "true", "the chosen ones' scores sum to 1"},
    {"stored", KeyKind::kFlag, "true", "scores go back to the model's type"},
    {"bias", KeyKind::kFlag, "false", "the product has an offset"},
    {"of_chosen", KeyKind::kFlag, "false", "the softmax is only over the chosen scores"},
};
constexpr Key kExpertsKeys[] = {
    {"experts", KeyKind::kInteger, kRequired, "experts"},
    {"inner", KeyKind::kExtent, kRequired, "features inside"},
    {"activation", KeyKind::kChoice, "silu", "of the gate", 1, "silu|gelu|relu"},
};

TensorId softmax_of(Layer& layer, TensorId x) {
  return layer.node("Softmax", {x}, {{"axis", int64_t{-1}}});
}

TensorId sum_of(Layer& layer, TensorId x, int64_t axis, bool keep) {
  return layer.node("ReduceSum", {x, layer.constant({axis})}, {{"keepdims", int64_t{keep}}});
}

// x [T, H] -> scores [T, chosen] and their experts (:1).
std::vector<TensorId> router(Layer& layer) {
  const TensorId x = layer.input();
  const Dim experts = layer.integer("experts");
  const bool sigmoid = layer.text("scores") == "sigmoid";
  const bool late = layer.flag("of_chosen");
  TensorId read = x;
  TensorId weight = layer.parameter("weight", {experts, layer.extent_of(x, -1)});
  if (sigmoid) {  // DeepSeek's, in 32 bits from the product on
    read = layer.cast(x, Layer::Cast::kWidens);
    weight = layer.cast(weight, Layer::Cast::kWidens);
  }
  std::vector<TensorId> operands{read, weight};
  if (layer.flag("bias")) operands.push_back(layer.parameter("bias", {experts}));
  // No module of torch.nn: no adapters stand beside it.
  TensorId scores = layer.node("Gemm", std::move(operands), {{"transB", int64_t{1}}});
  if (sigmoid) scores = layer.node("Sigmoid", {scores});
  if (!sigmoid && !late) scores = softmax_of(layer, layer.cast(scores, Layer::Cast::kWidens));
  Node choice;
  choice.op = "TopK";
  choice.inputs = {scores, layer.constant({layer.integer("chosen")})};
  const std::vector<TensorId> chosen = layer.nodes(std::move(choice), 2);
  TensorId best = chosen[0];
  if (late) best = softmax_of(layer, best);
  if (layer.flag("normalised")) best = layer.node("Div", {best, sum_of(layer, best, -1, true)});
  if (sigmoid) best = layer.node("Mul", {best, layer.scalar(1)});
  if (layer.flag("stored") && !late) best = layer.cast(best, Layer::Cast::kNarrows);
  return {best, chosen[1]};
}

TensorId activated(Layer& layer, TensorId x) {
  const std::string word = layer.text("activation");
  if (word == "silu") return layer.composite("Silu", {x});
  return layer.node(word == "gelu" ? "Gelu" : "Relu", {x});
}

// x [T, H], scores [T, k] and experts [T, k] of each token.
std::vector<TensorId> experts(Layer& layer) {
  const TensorId x = layer.input();
  const Dim tokens = layer.extent_of(x, 0), size = layer.extent_of(x, 1);
  const Dim chosen = layer.extent_of(layer.input(1), 1);
  const Dim pairs = tokens * chosen, inner = layer.extent("inner");
  const Dim count = layer.integer("experts");
  const auto flat = [&](TensorId t) { return layer.node("Reshape", {t, layer.constant({pairs})}); };
  const TensorId number = layer.constant_scalar(1);
  const TensorId order = layer.node("Add", {flat(layer.input(2)), number});
  const TensorId rows = layer.node("Div", {order, number});
  const TensorId sorted = layer.node("Gather", {x, rows}, {{"axis", int64_t{0}}});
  const TensorId scores =
      layer.node("Gather", {flat(layer.input(1)), order}, {{"axis", int64_t{0}}});
  const TensorId up = layer.parameter("gate_up_proj", {count, Dim(2) * inner, size});
  Node halves;
  halves.op = "Split";
  halves.attributes.set("axis", int64_t{-1});
  halves.inputs = {layer.composite("GroupedLinear", {sorted, up}), layer.constant({inner, inner})};
  const std::vector<TensorId> parts = layer.nodes(std::move(halves), 2);
  const TensorId gated = layer.node("Mul", {activated(layer, parts[0]), parts[1]});
  const TensorId down = layer.parameter("down_proj", {count, size, inner});
  const TensorId made = layer.composite("GroupedLinear", {gated, down});
  const TensorId column = layer.node("Unsqueeze", {scores, layer.constant({-1})});
  const TensorId weighted = layer.node("Mul", {made, column});
  const TensorId back = layer.node("Add", {order, number});
  const TensorId ordered = layer.node("Gather", {weighted, back}, {{"axis", int64_t{0}}});
  const TensorId apart = layer.node("Reshape", {ordered, layer.constant({tokens, chosen, size})});
  return {layer.cast(sum_of(layer, apart, 1, false), Layer::Cast::kNarrows)};
}

constexpr LayerType kExpertLayers[] = {
    {"router", 1, 1, kRouterKeys, router,
     "scores [T, k] of the experts chosen for each row of [T, H], and which they are (:1)"},
    {"experts", 3, 3, kExpertsKeys, experts,
     "gated MLPs, of which each row runs through some; inputs [T, H], scores, choices"},
};

}  // namespace

std::span<const LayerType> expert_layers() { return kExpertLayers; }

}  // namespace plimsoll::config
