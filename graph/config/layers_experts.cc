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
    {"wide", KeyKind::kChoice, "scores",
     "what of a model in 16 bits is in 32: the scores, or what is multiplied too, or nothing", 1,
     "scores|product|none"},
    {"balanced", KeyKind::kChoice, "none",
     "an offset that no gradient reaches is added to the scores: none, a buffer, or a weight", 1,
     "none|buffer|weight"},
    {"grouped", KeyKind::kFlag, "false",
     "scores of experts that are not in the best groups are masked, as DeepSeek V2's code does"},
    {"clamped", KeyKind::kFlag, "false",
     "what the chosen ones' scores are divided by is kept from 0"},
    {"factor", KeyKind::kFlag, "false", "the chosen ones' scores go through a constant factor"},
};
constexpr Key kChooseKeys[] = {
    {"chosen", KeyKind::kInteger, kRequired, "experts of a token"},
    {"softmax", KeyKind::kFlag, "true", "the products go through one, in 32 bits"},
    {"normalised", KeyKind::kFlag, "true", "the chosen ones' scores sum to 1"},
};
constexpr Key kExpertsKeys[] = {
    {"experts", KeyKind::kInteger, kRequired, "experts"},
    {"inner", KeyKind::kExtent, kRequired, "features inside"},
    {"activation", KeyKind::kChoice, "silu", "of the gate", 1, "silu|gelu|relu|relu_squared"},
    {"gate", KeyKind::kChoice, "halves",
     "the first half, or every other feature, clamped, or none: plain MLPs", 1,
     "halves|clamped|none"},
    {"transposed", KeyKind::kFlag, "false", "matrices have a row for each input"},
    {"bias", KeyKind::kFlag, "false", "the products have offsets"},
};

TensorId softmax_of(Layer& layer, TensorId x) {
  return layer.node("Softmax", {x}, {{"axis", int64_t{-1}}});
}

TensorId sum_of(Layer& layer, TensorId x, int64_t axis, bool keep) {
  return layer.node("ReduceSum", {x, layer.constant({axis})}, {{"keepdims", int64_t{keep}}});
}

std::vector<TensorId> best_of(Layer& layer, TensorId scores) {
  Node choice;
  choice.op = "TopK";
  choice.inputs = {scores, layer.constant({layer.integer("chosen")})};
  return layer.nodes(std::move(choice), 2);
}

TensorId summed_to_one(Layer& layer, TensorId scores, bool clamped = false) {
  TensorId sum = sum_of(layer, scores, -1, true);
  if (clamped) sum = layer.node("Clip", {sum, layer.scalar(1e-12)});
  return layer.node("Div", {scores, sum});
}

// What balances the experts: DeepSeek's code has a buffer, ERNIE's a weight that nobody trains
// (modeling_ernie4_5_moe.py, Ernie4_5_MoeStatics).
TensorId offset_of(Layer& layer, const Dim& experts) {
  if (layer.text("balanced") == "buffer") return layer.buffer("e_score_correction_bias", {experts});
  return layer.frozen_parameter("moe_statics.e_score_correction_bias", {Dim(1), experts});
}

// Products [T, experts] -> scores [T, chosen] and their experts (:1).
std::vector<TensorId> choose(Layer& layer) {
  TensorId scores = layer.input();
  if (layer.flag("softmax")) scores = softmax_of(layer, layer.cast(scores, Layer::Cast::kWidens));
  std::vector<TensorId> chosen = best_of(layer, scores);
  if (layer.flag("normalised")) chosen[0] = summed_to_one(layer, chosen[0]);
  return chosen;
}

// x [T, H] -> scores [T, chosen] and their experts (:1).
std::vector<TensorId> router(Layer& layer) {
  const TensorId x = layer.input();
  const Dim experts = layer.integer("experts");
  const bool late = layer.flag("of_chosen");
  const std::string wide = layer.text("wide");
  TensorId read = x;
  TensorId weight = layer.parameter("weight", {experts, layer.extent_of(x, -1)});
  if (wide == "product") {
    read = layer.cast(x, Layer::Cast::kWidens);
    weight = layer.cast(weight, Layer::Cast::kWidens);
  }
  std::vector<TensorId> operands{read, weight};
  if (layer.flag("bias")) operands.push_back(layer.parameter("bias", {experts}));
  // No module of torch.nn: no adapters stand beside it.
  TensorId scores = layer.node("Gemm", std::move(operands), {{"transB", int64_t{1}}});
  if (wide == "scores") scores = layer.cast(scores, Layer::Cast::kWidens);
  const auto through = [&](TensorId products) {
    return layer.text("scores") == "sigmoid" ? layer.node("Sigmoid", {products})
                                             : softmax_of(layer, products);
  };
  if (!late) scores = through(scores);
  if (layer.text("balanced") != "none")
    scores = layer.node("Add", {scores, offset_of(layer, experts)});
  if (layer.flag("grouped")) {
    const TensorId mask = layer.node("Greater", {scores, layer.scalar(0)});
    scores = layer.node("Where", {mask, scores, layer.scalar(0)});
  }
  const std::vector<TensorId> chosen = best_of(layer, scores);
  TensorId best = chosen[0];
  if (late) best = through(best);
  if (layer.flag("normalised")) best = summed_to_one(layer, best, layer.flag("clamped"));
  if (layer.flag("factor")) best = layer.node("Mul", {best, layer.scalar(1)});
  if (layer.flag("stored") && wide != "none") best = layer.cast(best, Layer::Cast::kNarrows);
  return {best, chosen[1]};
}

TensorId activated(Layer& layer, TensorId x) {
  const std::string word = layer.text("activation");
  if (word == "silu") return layer.composite("Silu", {x});
  if (word == "relu_squared") return layer.node("Pow", {layer.node("Relu", {x}), layer.scalar(2)});
  return layer.node(word == "gelu" ? "Gelu" : "Relu", {x});
}

// What is sorted by groups: the group of each row, where each group ends, how many there are.
struct Groups {
  TensorId of_rows, ends;
  Dim count;
};

// x [S, in] -> [S, out], by the matrix and the offset of each row's group, which is added in place.
TensorId project(Layer& layer, const Groups& groups, const std::string& name, TensorId x,
                 const Dim& out) {
  const Dim in = layer.extent_of(x, -1);
  const bool transposed = layer.flag("transposed");
  TensorId weight = layer.parameter(
      name, transposed ? Shape{groups.count, in, out} : Shape{groups.count, out, in});
  if (transposed)
    weight = layer.node("Transpose", {weight}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  const TensorId y = layer.composite("GroupedLinear", {x, weight, groups.ends});
  if (!layer.flag("bias")) return y;
  const TensorId offsets = layer.parameter(name + "_bias", {groups.count, out});
  const TensorId selected = layer.composite("Index", {offsets, groups.of_rows});
  layer.builder().keep_local({selected}, layer.path);
  Node sum;
  sum.op = "Add";
  sum.inputs = {y, selected};
  sum.notes.in_place = 1;
  return layer.nodes(std::move(sum), 1)[0];
}

// GPT-OSS: every other feature is a gate; both parts are clamped (modeling_gpt_oss.py,
// GptOssExperts._apply_gate()).
TensorId clamped(Layer& layer, TensorId both) {
  const Dim all = layer.extent_of(both, -1);
  const auto every_other = [&](const Dim& from) {
    return layer.node("Slice", {both, layer.constant({from}), layer.constant({all}),
                                layer.constant({-1}), layer.constant({2})});
  };
  const TensorId gate = every_other(0), up = every_other(1);
  const TensorId low = layer.node("Clip", {gate, kNoTensor, layer.scalar(7)});
  const TensorId middle = layer.node("Clip", {up, layer.scalar(-7), layer.scalar(7)});
  const TensorId share = layer.node("Sigmoid", {layer.node("Mul", {low, layer.scalar(1.702)})});
  const TensorId glu = layer.node("Mul", {low, share});
  return layer.node("Mul", {layer.node("Add", {middle, layer.scalar(1)}), glu});
}

// Two halves, of which one is a gate.
TensorId gated(Layer& layer, TensorId both, const Dim& inner) {
  if (layer.text("gate") == "clamped") return clamped(layer, both);
  Node halves;
  halves.op = "Split";
  halves.attributes.set("axis", int64_t{-1});
  halves.inputs = {both, layer.constant({inner, inner})};
  const std::vector<TensorId> parts = layer.nodes(std::move(halves), 2);
  return layer.node("Mul", {activated(layer, parts[0]), parts[1]});
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
  const TensorId of_rows = layer.node("Add", {flat(layer.input(2)), number});
  const TensorId order = layer.node("Add", {flat(layer.input(2)), number});
  const TensorId rows = layer.node("Div", {order, number});
  const TensorId sorted = layer.composite("Index", {x, rows});
  const TensorId scores = layer.composite("Index", {flat(layer.input(1)), order});
  const TensorId ends =
      layer.composite("GroupOffsets", {of_rows}, {{"groups", layer.integer("experts")}});
  const Groups groups{of_rows, ends, count};
  const bool plain = layer.text("gate") == "none";
  const TensorId up = plain ? project(layer, groups, "up_proj", sorted, inner)
                            : project(layer, groups, "gate_up_proj", sorted, Dim(2) * inner);
  const TensorId inside = plain ? activated(layer, up) : gated(layer, up, inner);
  const TensorId made = project(layer, groups, "down_proj", inside, size);
  const TensorId column = layer.node("Unsqueeze", {scores, layer.constant({-1})});
  const TensorId weighted = layer.node("Mul", {made, column});
  const TensorId back = layer.node("Add", {order, number});
  const TensorId ordered = layer.composite("Index", {weighted, back});
  const TensorId apart = layer.node("Reshape", {ordered, layer.constant({tokens, chosen, size})});
  return {layer.cast(sum_of(layer, apart, 1, false), Layer::Cast::kNarrows)};
}

constexpr LayerType kExpertLayers[] = {
    {"router", 1, 1, kRouterKeys, router,
     "scores [T, k] of the experts chosen for each row of [T, H], and which they are (:1)"},
    {"choose", 1, 1, kChooseKeys, choose,
     "the largest k of scores [T, experts], and which they are (:1)"},
    {"experts", 3, 3, kExpertsKeys, experts,
     "MLPs, of which each row runs through some; inputs [T, H], scores, choices"},
};

}  // namespace

std::span<const LayerType> expert_layers() { return kExpertLayers; }

}  // namespace plimsoll::config
