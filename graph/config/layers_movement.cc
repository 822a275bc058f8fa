// Layers that rearrange, cut, join, enlarge or make tensors; reductions; RoI align.
#include <fmt/format.h>

#include "graph/config/layer.h"

namespace plimsoll::config {
namespace {

constexpr Key kConcatKeys[] = {{"axis", KeyKind::kInteger, "1", "axis", kAnyInteger}};
constexpr Key kSplitKeys[] = {
    {"sizes", KeyKind::kShape, kRequired, "extents of the parts"},
    {"axis", KeyKind::kInteger, "-1", "axis", kAnyInteger},
};
constexpr Key kSliceKeys[] = {
    {"axis", KeyKind::kInteger, kRequired, "axis", kAnyInteger},
    {"start", KeyKind::kExtent, "0", "first index; negative counts from the end", kAnyInteger},
    {"end", KeyKind::kExtent, kOptional, "index after the last; all where absent", kAnyInteger},
    {"step", KeyKind::kInteger, "1", "distance between the indices"},
};
constexpr Key kSelectKeys[] = {
    {"axis", KeyKind::kInteger, kRequired, "axis, which goes away", kAnyInteger},
    {"index", KeyKind::kInteger, kRequired, "index; negative counts from the end", kAnyInteger},
    {"listed", KeyKind::kFlag, "false", "by a list of one index: a copy, and the axis stays"},
};
constexpr Key kReshapeKeys[] = {
    {"shape", KeyKind::kShape, kRequired, "new extents; 0 keeps one, -1 is what is left", -1}};
constexpr Key kFlattenKeys[] = {
    {"axis", KeyKind::kInteger, "1", "the axes before it become one, those from it another", 0}};
constexpr Key kTransposeKeys[] = {
    {"order", KeyKind::kIntegers, kRequired, "the old axis that each new one is", 0}};
constexpr Key kPadKeys[] = {
    {"pads", KeyKind::kIntegers, kRequired, "all begins, then all ends, over every axis",
     kAnyInteger},
    {"mode", KeyKind::kChoice, "constant", "what is put there", 1, "constant|reflect|edge"},
};
constexpr Key kUpsampleKeys[] = {
    {"scale", KeyKind::kReal, kRequired, "factor of every spatial axis"},
    {"mode", KeyKind::kChoice, "nearest", "interpolation", 1, "nearest|linear|cubic"},
};
constexpr Key kAxesKeys[] = {{"axes", KeyKind::kIntegers, kRequired, "axes", kAnyInteger}};
constexpr Key kReduceKeys[] = {
    {"axes", KeyKind::kIntegers, kRequired, "axes", kAnyInteger},
    {"keep", KeyKind::kFlag, "false", "they stay, with extent 1"},
};
constexpr Key kShapeKeys[] = {{"shape", KeyKind::kShape, kRequired, "extents", 0}};
constexpr Key kBufferKeys[] = {
    {"shape", KeyKind::kShape, kRequired, "extents", 0},
    {"dtype", KeyKind::kChoice, "i64", "of its elements", 1, "i64|bool|f32"},
};
constexpr Key kContiguousKeys[] = {
    {"always", KeyKind::kFlag, "false",
     "a copy even where it lies so, as of tensors that are joined along their first axis"},
};
constexpr Key kCastKeys[] = {
    {"to", KeyKind::kChoice, kRequired, "single precision, or the model's", 1, "fp32|stored"},
};
constexpr Key kRoiKeys[] = {
    {"size", KeyKind::kIntegers, kRequired, "output height and width"},
    {"scale", KeyKind::kReal, kRequired, "extent of the feature map over that of the image"},
    {"sampling_ratio", KeyKind::kInteger, "2", "samples per bin and axis", 0},
};

std::vector<TensorId> all_inputs(const Layer& layer) {
  std::vector<TensorId> inputs;
  for (size_t i = 0; i < layer.inputs(); ++i) inputs.push_back(layer.input(i));
  return inputs;
}

std::vector<Dim> dims(const std::vector<int64_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

std::vector<TensorId> concat(Layer& layer) {
  return {layer.node("Concat", all_inputs(layer), {{"axis", layer.integer("axis")}})};
}

std::vector<TensorId> split_along(Layer& layer) {
  const Shape sizes = layer.shape("sizes");
  if (sizes.empty()) {
    layer.fail_at("sizes", "E312", "\"sizes\" must name at least one part");
    return {};
  }
  Node node;
  node.op = "Split";
  node.attributes.set("axis", layer.integer("axis"));
  node.inputs = {layer.input(), layer.constant(sizes)};
  return layer.nodes(std::move(node), sizes.size());
}

std::vector<TensorId> slice(Layer& layer) {
  const int64_t axis = layer.integer("axis");
  const Dim end = layer.has("end") ? layer.extent("end") : layer.extent_of(layer.input(), axis);
  return {layer.node("Slice",
                     {layer.input(), layer.constant({layer.extent("start")}), layer.constant({end}),
                      layer.constant({axis}), layer.constant({layer.integer("step")})})};
}

std::vector<TensorId> select(Layer& layer) {
  if (layer.flag("listed")) {
    const TensorId list = layer.node("ConstantOfShape", {layer.constant({1})});
    const TensorId indices = layer.node("Cast", {list}, {{"to", int64_t{7}}});  // ONNX's INT64
    return {layer.node("Gather", {layer.input(), indices}, {{"axis", layer.integer("axis")}})};
  }
  const TensorId index = layer.constant_scalar(layer.integer("index"));
  return {layer.node("Gather", {layer.input(), index}, {{"axis", layer.integer("axis")}})};
}

std::vector<TensorId> reshape(Layer& layer) {
  return {layer.node("Reshape", {layer.input(), layer.constant(layer.shape("shape"))})};
}

std::vector<TensorId> flatten(Layer& layer) {
  return {layer.node("Flatten", {layer.input()}, {{"axis", layer.integer("axis")}})};
}

std::vector<TensorId> transpose(Layer& layer) {
  return {layer.node("Transpose", {layer.input()}, {{"perm", layer.integers("order")}})};
}

std::vector<TensorId> pad(Layer& layer) {
  const TensorId pads = layer.constant(dims(layer.integers("pads")));
  return {layer.node("Pad", {layer.input(), pads}, {{"mode", layer.text("mode")}})};
}

std::vector<TensorId> upsample(Layer& layer) {
  const double factor = layer.real("scale");
  if (!(factor > 0 && factor <= 1024)) {
    layer.fail_at("scale", "E312",
                  fmt::format("\"scale\" must be above 0 and at most 1024, found {}", factor));
    return {};
  }
  std::vector<double> scales(layer.shape_of(layer.input()).size(), factor);
  for (size_t i = 0; i < 2 && i < scales.size(); ++i) scales[i] = 1;
  return {layer.node("Resize", {layer.input(), kNoTensor, layer.reals(std::move(scales))},
                     {{"mode", layer.text("mode")}})};
}

std::vector<TensorId> squeeze(Layer& layer) {
  return {layer.node("Squeeze", {layer.input(), layer.constant(dims(layer.integers("axes")))})};
}

std::vector<TensorId> unsqueeze(Layer& layer) {
  return {layer.node("Unsqueeze", {layer.input(), layer.constant(dims(layer.integers("axes")))})};
}

std::vector<TensorId> reduce(Layer& layer) {
  const std::string_view type = layer.type().name;
  const char* op = type == "reduce_mean"  ? "ReduceMean"
                   : type == "reduce_sum" ? "ReduceSum"
                                          : "ReduceMax";
  return {layer.node(op, {layer.input(), layer.constant(dims(layer.integers("axes")))},
                     {{"keepdims", int64_t{layer.flag("keep")}}})};
}

std::vector<TensorId> expand(Layer& layer) {
  return {layer.node("Expand", {layer.input(), layer.constant(layer.shape("shape"))})};
}

std::vector<TensorId> weight(Layer& layer) {
  return {layer.parameter("weight", layer.shape("shape"))};
}

std::vector<TensorId> buffer(Layer& layer) {
  const DType type = *dtype_from_short_name(layer.text("dtype"));
  return {layer.node("Identity", {layer.buffer("buffer", layer.shape("shape"), type)})};
}

std::vector<TensorId> in_order(Layer& layer) {
  if (!layer.flag("always")) return {layer.composite("Contiguous", {layer.input()})};
  return {layer.composite("Contiguous", {layer.input()}, {{"always", int64_t{1}}})};
}

std::vector<TensorId> rows(Layer& layer) {
  return {layer.composite("Index", {layer.input(0), layer.input(1)})};
}

// input_ids == image_token_id, for all features of a token.
std::vector<TensorId> masked_scatter(Layer& layer) {
  const TensorId number = layer.constant_scalar(0);
  const TensorId mask = layer.node(
      "Unsqueeze", {layer.node("Equal", {layer.input(1), number}), layer.constant({-1})});
  return {layer.composite("MaskedScatter", {layer.input(0), mask, layer.input(2)}), mask};
}

std::vector<TensorId> masked_add(Layer& layer) {
  return {layer.composite("MaskedAdd", {layer.input(0), layer.input(1), layer.input(2)})};
}

std::vector<TensorId> cast(Layer& layer) {
  const bool widens = layer.text("to") == "fp32";
  return {layer.cast(layer.input(), widens ? Layer::Cast::kWidens : Layer::Cast::kNarrows)};
}

std::vector<TensorId> zeros(Layer& layer) {
  return {layer.node("ConstantOfShape", {layer.constant(layer.shape("shape"))})};
}

std::vector<TensorId> roi_align(Layer& layer) {
  const std::vector<int64_t> size = layer.integers("size", 2);
  return {layer.node("RoiAlign", all_inputs(layer),
                     {{"output_height", size[0]},
                      {"output_width", size[1]},
                      {"sampling_ratio", layer.integer("sampling_ratio")},
                      {"spatial_scale", layer.real("scale")}})};
}

constexpr LayerType kMovementLayers[] = {
    {"concat", 1, 256, kConcatKeys, concat, "joins its inputs along an axis"},
    {"split", 1, 1, kSplitKeys, split_along, "cuts along an axis; one output per part"},
    {"slice", 1, 1, kSliceKeys, slice, "a range of one axis"},
    {"select", 1, 1, kSelectKeys, select, "one index of an axis"},
    {"reshape", 1, 1, kReshapeKeys, reshape, "the same elements in another shape"},
    {"flatten", 1, 1, kFlattenKeys, flatten, "two axes out of all"},
    {"transpose", 1, 1, kTransposeKeys, transpose, "axes in another order"},
    {"pad", 1, 1, kPadKeys, pad, "elements around"},
    {"upsample", 1, 1, kUpsampleKeys, upsample, "larger spatial axes by interpolation"},
    {"squeeze", 1, 1, kAxesKeys, squeeze, "drops axes of extent 1"},
    {"unsqueeze", 1, 1, kAxesKeys, unsqueeze, "adds axes of extent 1"},
    {"reduce_mean", 1, 1, kReduceKeys, reduce, "mean over axes"},
    {"reduce_sum", 1, 1, kReduceKeys, reduce, "sum over axes"},
    {"reduce_max", 1, 1, kReduceKeys, reduce, "largest value over axes"},
    {"expand", 1, 1, kShapeKeys, expand, "repeats along axes of extent 1"},
    {"parameter", 0, 0, kShapeKeys, weight, "a trained tensor"},
    {"buffer", 0, 0, kBufferKeys, buffer, "numbers that a module keeps and nobody trains"},
    {"contiguous", 1, 1, kContiguousKeys, in_order,
     "a copy in the order of its axes, where it does not lie so"},
    {"rows", 2, 2, {}, rows, "rows of the first input whose numbers are in the second"},
    {"masked_scatter",
     3,
     3,
     {},
     masked_scatter,
     "inputs x [N, S, E], ids [N, S], features: x with features where the ids are one number, and "
     "(:1) where"},
    {"masked_add",
     3,
     3,
     {},
     masked_add,
     "inputs x [N, S, E], where, features: a copy of x with the features added there"},
    {"cast", 1, 1, kCastKeys, cast, "another type, in a model of 16 bits"},
    {"zeros", 0, 0, kShapeKeys, zeros, "a constant made in every step"},
    {"roi_align", 3, 3, kRoiKeys, roi_align,
     "features of boxes; inputs features, boxes [K,4], image of each box [K]"},
};

}  // namespace

std::span<const LayerType> movement_layers() { return kMovementLayers; }

}  // namespace plimsoll::config
