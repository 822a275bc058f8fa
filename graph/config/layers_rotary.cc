// Rotary position embeddings, in the operators of transformers' code (modeling_llama.py,
// LlamaRotaryEmbedding and apply_rotary_pos_emb; modeling_gptj.py for pairs).
#include <fmt/format.h>

#include "graph/config/layer.h"
#include "graph/config/windows.h"

namespace plimsoll::config {
namespace {

constexpr Key kTableKeys[] = {
    {"size", KeyKind::kExtent, kRequired, "features of a head that turn"},
    {"wide", KeyKind::kFlag, "false", "they stay in 32 bits in a model of 16"},
    {"halves", KeyKind::kFlag, "false", "a number for both halves of a head"},
    {"each", KeyKind::kFlag, "false", "tables of each sample; else one for all"},
    {"given", KeyKind::kFlag, "false",
     "the input's features are positions, and the frequencies are made in each pass; else the "
     "module keeps these, and those that scaled ones come back to"},
};
constexpr Key kPositionsKeys[] = {
    {"whole", KeyKind::kFlag, "false", "a row for each sample; else one for all"},
    {"kept", KeyKind::kExtent, kOptional, "positions of which the module keeps the numbers"},
    {"from", KeyKind::kChoice, "made",
     "how they come about: made in each pass, a part of what is kept, or one row made for all "
     "samples",
     1, "made|kept|spread"},
};
constexpr Key kRotaryKeys[] = {
    {"size", KeyKind::kExtent, kOptional, "features of a head that turn; all where absent"},
    {"pairs", KeyKind::kFlag, "false", "neighbours turn together; else one of each half"},
    {"halves", KeyKind::kFlag, "false", "code that turns each half by itself and joins them"},
    {"doubled", KeyKind::kFlag, "false", "tables have a number for both of a pair: it is repeated"},
    {"heads_axis", KeyKind::kInteger, "1", "where x has its heads", 1},
    {"joined", KeyKind::kFlag, "false",
     "code that joins it with what stays, even with nothing: a copy"},
    {"wide", KeyKind::kChoice, "none",
     "what of a model in 16 bits turns in 32: nothing, the product with tables that stay so, x as "
     "well, or x and what it turns to, each by itself",
     1, "none|product|operand|apart"},
};

// The numbers [1, S] of the positions of x [N, S, ...].
std::vector<TensorId> positions(Layer& layer) {
  const Dim steps = layer.extent_of(layer.input(), 1);
  const std::string from = layer.text("from");
  if (layer.has("kept")) {
    const TensorId ids = layer.parameter("ids", {Dim(1), layer.extent("kept")}, DType::kInt64);
    if (from == "kept")
      return {layer.node("Slice", {ids, layer.constant({0}), layer.constant({steps}),
                                   layer.constant({1}), layer.constant({1})})};
    layer.node("Identity", {ids});  // it is there all the same
  }
  const Dim rows = layer.flag("whole") ? layer.extent_of(layer.input(), 0) : Dim(1);
  const TensorId ones = layer.node("ConstantOfShape", {layer.constant({rows, steps})});
  const TensorId numbers = layer.node("Cast", {ones}, {{"to", int64_t{7}}});  // ONNX's INT64
  if (from != "spread") return {numbers};
  const Dim samples = layer.extent_of(layer.input(), 0);
  return {layer.node("Expand", {numbers, layer.constant({samples, steps})})};
}

// Whole numbers [S, S], one for each pair of positions of x [N, S, ...].
std::vector<TensorId> relative_positions(Layer& layer) {
  const Dim steps = layer.extent_of(layer.input(), 1);
  const TensorId ones = layer.node("ConstantOfShape", {layer.constant({steps, steps})});
  return {layer.node("Cast", {ones}, {{"to", int64_t{7}}})};  // ONNX's INT64
}

TensorId part(Layer& layer, TensorId x, const Dim& from, const Dim& to, int64_t step = 1) {
  return layer.node("Slice", {x, layer.constant({from}), layer.constant({to}), layer.constant({-1}),
                              layer.constant({step})});
}

// Cosines and sines [1, S, size], or [N, S, size], of the positions of x [N, S, ...].
std::vector<TensorId> rotary_table(Layer& layer) {
  const Dim steps = layer.extent_of(layer.input(), 1);
  const Dim half = floor_div(layer.extent("size"), 2);
  const bool given = layer.flag("given");
  const TensorId frequencies =
      given ? layer.node("ConstantOfShape", {layer.constant({half})}) : layer.table({half});
  if (!given) layer.node("Identity", {layer.table({half})});
  const Dim rows = layer.flag("each") ? layer.extent_of(layer.input(), 0) : Dim(1);
  const TensorId positions =
      given ? part(layer, layer.input(), 0, 1)
            : layer.node("ConstantOfShape", {layer.constant({rows, steps, Dim(1)})});
  const TensorId wide =
      layer.flag("wide") ? layer.cast(positions, Layer::Cast::kWidens) : positions;
  const TensorId angles = layer.node("Mul", {wide, frequencies});
  const TensorId both = layer.flag("halves")
                            ? angles
                            : layer.node("Concat", {angles, angles}, {{"axis", int64_t{-1}}});
  const TensorId cos = layer.node("Mul", {layer.node("Cos", {both}), layer.scalar(1)});
  const TensorId sin = layer.node("Mul", {layer.node("Sin", {both}), layer.scalar(1)});
  return {cos, sin};
}

TensorId rotated(Layer& layer, TensorId x, const Dim& size) {
  const Dim half = floor_div(size, 2);
  if (!layer.flag("pairs")) {
    const TensorId first = part(layer, x, 0, half);
    const TensorId second = part(layer, x, half, size);
    return layer.node("Concat", {layer.node("Neg", {second}), first}, {{"axis", int64_t{-1}}});
  }
  const auto apart = [&](TensorId y) { return layer.node("Unsqueeze", {y, layer.constant({-1})}); };
  const TensorId even = part(layer, x, 0, size, 2);
  const TensorId odd = part(layer, x, 1, size, 2);
  const TensorId both =
      layer.node("Concat", {apart(layer.node("Neg", {odd})), apart(even)}, {{"axis", int64_t{-1}}});
  Shape shape = layer.shape_of(x);
  return layer.node("Reshape", {both, layer.constant(shape)});
}

// torch.repeat_interleave(2, dim=-1).
TensorId doubled(Layer& layer, TensorId given) {
  Shape shape = layer.shape_of(given);
  shape.emplace_back(2);
  TensorId table = layer.node("Unsqueeze", {given, layer.constant({-1})});
  table = layer.node("Expand", {table, layer.constant(shape)});
  shape.pop_back();
  shape.back() = shape.back() * Dim(2);
  return layer.node("Reshape", {table, layer.constant(shape)});
}

// The first half of each table, every number twice (modeling_glm.py).
std::vector<TensorId> rotary_doubled(Layer& layer) {
  std::vector<TensorId> tables;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const TensorId table = layer.input(i);
    tables.push_back(
        doubled(layer, part(layer, table, 0, floor_div(layer.extent_of(table, -1), 2))));
  }
  return tables;
}

// A table [1, S, size] as x reads it, with an axis for its heads.
TensorId for_all_heads(Layer& layer, TensorId given) {
  const TensorId table =
      layer.node("Unsqueeze", {given, layer.constant({layer.integer("heads_axis")})});
  return layer.flag("doubled") ? doubled(layer, table) : table;
}

// Each half times the cosine, and the other one times the sine.
TensorId rotated_halves(Layer& layer, TensorId x, const Dim& size, TensorId cos, TensorId sin) {
  const Dim half = floor_div(size, 2);
  const TensorId first = part(layer, x, 0, half), second = part(layer, x, half, size);
  const auto times = [&](TensorId a, TensorId b) { return layer.node("Mul", {a, b}); };
  const TensorId left = layer.node("Sub", {times(first, cos), times(second, sin)});
  const TensorId right = layer.node("Add", {times(second, cos), times(first, sin)});
  return layer.node("Concat", {left, right}, {{"axis", int64_t{-1}}});
}

TensorId rotated_whole(Layer& layer, TensorId x, const Dim& size, TensorId cos, TensorId sin) {
  const bool apart = layer.text("wide") == "apart";
  const auto read = [&](TensorId y) { return apart ? layer.cast(y, Layer::Cast::kWidens) : y; };
  const TensorId stays = layer.node("Mul", {read(x), cos});
  const TensorId turns = layer.node("Mul", {read(rotated(layer, x, size)), sin});
  return layer.node("Add", {stays, turns});
}

// x [N, heads, S, D], cosines and sines [1, S, size].
std::vector<TensorId> rotary(Layer& layer) {
  const std::string wide = layer.text("wide");
  const TensorId x =
      wide == "operand" ? layer.cast(layer.input(), Layer::Cast::kWidens) : layer.input();
  const Dim whole = layer.extent_of(x, -1);
  const Dim size = layer.has("size") ? layer.extent("size") : whole;
  const bool all = size == whole;
  const TensorId cos = for_all_heads(layer, layer.input(1));
  const TensorId sin = for_all_heads(layer, layer.input(2));
  const TensorId turns = all ? x : part(layer, x, 0, size);
  const TensorId stays = all ? kNoTensor : part(layer, x, size, whole);
  const TensorId sum = layer.flag("halves") ? rotated_halves(layer, turns, size, cos, sin)
                                            : rotated_whole(layer, turns, size, cos, sin);
  const TensorId y = wide == "none" ? sum : layer.cast(sum, Layer::Cast::kNarrows);
  if (all && layer.flag("joined")) return {layer.composite("Contiguous", {y})};
  if (all) return {y};
  return {layer.node("Concat", {y, stays}, {{"axis", int64_t{-1}}})};
}

constexpr LayerType kRotaryLayers[] = {
    {"positions", 1, 1, kPositionsKeys, positions,
     "the numbers [1, S] of the positions of [N, S, ...]"},
    {"relative_positions",
     1,
     1,
     {},
     relative_positions,
     "whole numbers [S, S] of the distances between positions of [N, S, ...]"},
    {"rotary_table", 1, 1, kTableKeys, rotary_table,
     "cosines and sines (:1) of the positions of [N, S, ...]"},
    {"rotary_doubled",
     2,
     2,
     {},
     rotary_doubled,
     "cosines and sines (:1) of the first half of each table, every number twice"},
    {"rotary", 3, 3, kRotaryKeys, rotary,
     "turns [N, H, S, D] by its position; inputs x, cosines, sines"},
};

}  // namespace

std::span<const LayerType> rotary_layers() { return kRotaryLayers; }

}  // namespace plimsoll::config
