// Normalisations. The statistics that batch norm keeps are tensors, but nobody trains them.
#include "graph/config/layer.h"
#include "graph/config/windows.h"

namespace plimsoll::config {
namespace {

constexpr Key kBatchKeys[] = {
    {"epsilon", KeyKind::kReal, "1e-5", "added to the variance"},
    {"momentum", KeyKind::kReal, "0.1", "weight of the new batch in the running statistics"},
    {"affine", KeyKind::kFlag, "true", "learns a scale and an offset"},
};
constexpr Key kLayerKeys[] = {
    {"axes", KeyKind::kInteger, "1", "how many of the last axes are normalised"},
    {"epsilon", KeyKind::kReal, "1e-5", "added to the variance"},
    {"affine", KeyKind::kFlag, "true", "learns a scale"},
    {"bias", KeyKind::kFlag, "true", "learns an offset too"},
    {"one_added", KeyKind::kFlag, "false", "one is added to the scale, as Nemotron's code has it"},
};
constexpr Key kGroupKeys[] = {
    {"groups", KeyKind::kInteger, kRequired, "groups of channels"},
    {"epsilon", KeyKind::kReal, "1e-5", "added to the variance"},
    {"affine", KeyKind::kFlag, "true", "learns a scale and an offset"},
};
constexpr Key kInstanceKeys[] = {
    {"epsilon", KeyKind::kReal, "1e-5", "added to the variance"},
    {"affine", KeyKind::kFlag, "true", "learns a scale and an offset"},
};
constexpr Key kRmsKeys[] = {
    {"epsilon", KeyKind::kReal, "1e-6", "added to the mean square"},
    {"fused", KeyKind::kFlag, "false",
     "one operator, as torch.nn.RMSNorm; else separate operators, as in the code of models"},
    {"affine", KeyKind::kFlag, "true", "learns a scale"},
    {"style", KeyKind::kChoice, "plain",
     "which pieces of a model in 16 bits are in 32: none; all but the scale, as Llama's code has "
     "it; that of a stream in 32 bits, which stays so (Mamba 2); all, before the cast (OLMo 2); "
     "that, and the scale before it (Helium); all, and one is "
     "added to the scale (Gemma); all, with a "
     "power for the root (Gemma 4); the root and what it divides (T5)",
     1, "plain|llama|stream|wide|widest|gemma|power|t5"},
};
constexpr Key kLocalKeys[] = {
    {"size", KeyKind::kInteger, kRequired, "neighbouring channels"},
    {"alpha", KeyKind::kReal, "1e-4", "scale of the sum of squares"},
    {"beta", KeyKind::kReal, "0.75", "exponent"},
    {"bias", KeyKind::kReal, "1", "added to the sum"},
};

// A scale or an offset that is learned; else ONNX's operator is given a constant, which is none.
TensorId learned(Layer& layer, std::string_view name, const Shape& shape) {
  return layer.flag("affine") ? layer.parameter(name, shape) : layer.table(shape);
}

// ONNX weighs the old statistics where PyTorch weighs the new batch.
std::vector<TensorId> batch_norm(Layer& layer) {
  const Shape channels{layer.extent_of(layer.input(), 1)};
  const TensorId weight = learned(layer, "weight", channels);
  const TensorId bias = learned(layer, "bias", channels);
  const TensorId mean = layer.parameter("running_mean", channels);
  const TensorId variance = layer.parameter("running_var", channels);
  return {layer.node("BatchNormalization", {layer.input(), weight, bias, mean, variance},
                     {{"epsilon", layer.real("epsilon")},
                      {"momentum", 1 - layer.real("momentum")},
                      {"training_mode", int64_t{1}}})};
}

std::vector<TensorId> layer_norm(Layer& layer) {
  const int64_t axes = layer.integer("axes");
  Shape shape;
  for (int64_t axis = -axes; axis < 0 && !layer.failed(); ++axis) {
    shape.push_back(layer.extent_of(layer.input(), axis));
  }
  TensorId weight = learned(layer, "weight", shape);
  if (layer.flag("one_added")) weight = layer.node("Add", {weight, layer.scalar(1)});
  std::vector<TensorId> inputs{layer.input(), weight};
  if (layer.flag("bias") && layer.flag("affine")) inputs.push_back(layer.parameter("bias", shape));
  return {layer.node("LayerNormalization", std::move(inputs),
                     {{"axis", -axes}, {"epsilon", layer.real("epsilon")}})};
}

std::vector<TensorId> group_norm(Layer& layer) {
  const Shape channels{layer.extent_of(layer.input(), 1)};
  group_share(layer, "groups", channels[0]);
  const TensorId weight = learned(layer, "weight", channels);
  const TensorId bias = learned(layer, "bias", channels);
  return {
      layer.node("GroupNormalization", {layer.input(), weight, bias},
                 {{"num_groups", layer.integer("groups")}, {"epsilon", layer.real("epsilon")}})};
}

std::vector<TensorId> instance_norm(Layer& layer) {
  const Shape channels{layer.extent_of(layer.input(), 1)};
  const TensorId weight = learned(layer, "weight", channels);
  const TensorId bias = learned(layer, "bias", channels);
  return {layer.node("InstanceNormalization", {layer.input(), weight, bias},
                     {{"epsilon", layer.real("epsilon")}})};
}

// T5's (modeling_t5.py, T5LayerNorm): x itself is multiplied, not its wide copy.
std::vector<TensorId> t5_norm(Layer& layer) {
  const TensorId x = layer.input();
  const TensorId square = layer.node("Pow", {layer.cast(x, Layer::Cast::kWidens), layer.scalar(2)});
  const TensorId mean =
      layer.node("ReduceMean", {square, layer.constant({-1})}, {{"keepdims", int64_t{1}}});
  const TensorId root =
      layer.composite("Rsqrt", {layer.node("Add", {mean, layer.scalar(layer.real("epsilon"))})});
  const TensorId y = layer.cast(layer.node("Mul", {x, root}), Layer::Cast::kNarrows);
  return {layer.node("Mul", {layer.parameter("weight", {layer.extent_of(x, -1)}), y})};
}

// Gemma4RMSNorm (modeling_gemma4.py): pow(mean + epsilon, -0.5) keeps what it is taken of.
std::vector<TensorId> power_norm(Layer& layer) {
  const TensorId x = layer.cast(layer.input(), Layer::Cast::kWidens);
  const TensorId square = layer.node("Pow", {x, layer.scalar(2)});
  const TensorId mean =
      layer.node("ReduceMean", {square, layer.constant({-1})}, {{"keepdims", int64_t{1}}});
  const TensorId more = layer.node("Add", {mean, layer.scalar(layer.real("epsilon"))});
  TensorId y = layer.node("Mul", {x, layer.node("Pow", {more, layer.scalar(-0.5)})});
  if (layer.flag("affine")) {
    const TensorId weight = layer.parameter("weight", {layer.extent_of(layer.input(), -1)});
    y = layer.node("Mul", {y, layer.cast(weight, Layer::Cast::kWidens)});
  }
  return {layer.cast(y, Layer::Cast::kNarrows)};
}

// Normalised in single precision, whatever the model's type is.
std::vector<TensorId> wide_rms_norm(Layer& layer, const std::string& style) {
  const TensorId wide = layer.cast(layer.input(), Layer::Cast::kWidens);
  const TensorId y = layer.composite("RmsNorm", {wide}, {{"epsilon", layer.real("epsilon")}});
  if (!layer.flag("affine")) return {layer.cast(y, Layer::Cast::kNarrows)};
  const TensorId weight = layer.parameter("weight", {layer.extent_of(layer.input(), -1)});
  if (style == "stream") return {layer.node("Mul", {weight, y})};
  if (style == "llama") return {layer.node("Mul", {weight, layer.cast(y, Layer::Cast::kNarrows)})};
  const bool gemma = style == "gemma";
  TensorId scale = gemma || style == "widest" ? layer.cast(weight, Layer::Cast::kWidens) : weight;
  if (gemma) scale = layer.node("Add", {scale, layer.scalar(1)});
  const TensorId scaled = gemma ? layer.node("Mul", {y, scale}) : layer.node("Mul", {scale, y});
  return {layer.cast(scaled, Layer::Cast::kNarrows)};
}

std::vector<TensorId> rms_norm(Layer& layer) {
  const std::string style = layer.text("style");
  if (style == "t5") return t5_norm(layer);
  if (style == "power") return power_norm(layer);
  if (style != "plain" || !layer.flag("affine")) return wide_rms_norm(layer, style);
  const TensorId weight = layer.parameter("weight", {layer.extent_of(layer.input(), -1)});
  if (layer.flag("fused")) {
    return {layer.node("RMSNormalization", {layer.input(), weight},
                       {{"axis", int64_t{-1}}, {"epsilon", layer.real("epsilon")}})};
  }
  return {
      layer.composite("RmsNorm", {layer.input(), weight}, {{"epsilon", layer.real("epsilon")}})};
}

// CohereLayerNorm of transformers (modeling_cohere.py): no operator of its own, in 32 bits.
std::vector<TensorId> layer_norm_in_operators(Layer& layer) {
  const TensorId x = layer.cast(layer.input(), Layer::Cast::kWidens);
  const auto mean = [&](TensorId of) {
    return layer.node("ReduceMean", {of, layer.constant({-1})}, {{"keepdims", int64_t{1}}});
  };
  const TensorId middle = mean(x);
  const TensorId square = layer.node("Pow", {layer.node("Sub", {x, middle}), layer.scalar(2)});
  const TensorId variance = layer.node("Add", {mean(square), layer.scalar(1e-5)});
  const TensorId y =
      layer.node("Mul", {layer.node("Sub", {x, middle}), layer.composite("Rsqrt", {variance})});
  const TensorId weight = layer.parameter("weight", {layer.extent_of(layer.input(), -1)});
  const TensorId scaled = layer.node("Mul", {layer.cast(weight, Layer::Cast::kWidens), y});
  return {layer.cast(scaled, Layer::Cast::kNarrows)};
}

std::vector<TensorId> local_response(Layer& layer) {
  return {layer.node("LRN", {layer.input()},
                     {{"size", layer.integer("size")},
                      {"alpha", layer.real("alpha")},
                      {"beta", layer.real("beta")},
                      {"bias", layer.real("bias")}})};
}

constexpr LayerType kNormLayers[] = {
    {"batch_norm", 1, 1, kBatchKeys, batch_norm, "normalises each channel over the batch"},
    {"layer_norm", 1, 1, kLayerKeys, layer_norm, "normalises the last axes of each sample"},
    {"layer_norm_in_operators",
     1,
     1,
     {},
     layer_norm_in_operators,
     "the same over the last axis with only a scale, operator by operator"},
    {"group_norm", 1, 1, kGroupKeys, group_norm, "normalises groups of channels of each sample"},
    {"instance_norm", 1, 1, kInstanceKeys, instance_norm, "normalises each channel of each sample"},
    {"rms_norm", 1, 1, kRmsKeys, rms_norm, "divides by the root mean square of the last axis"},
    {"local_response_norm", 1, 1, kLocalKeys, local_response, "AlexNet's norm across channels"},
};

}  // namespace

std::span<const LayerType> norm_layers() { return kNormLayers; }

}  // namespace plimsoll::config
