// Layers of selective state spaces in the operators of transformers' code.
#include <utility>

#include "graph/config/layer.h"
#include "graph/config/windows.h"

namespace plimsoll::config {
namespace {

constexpr Key kMixerKeys[] = {
    {"heads", KeyKind::kInteger, kRequired, "heads"},
    {"head_size", KeyKind::kExtent, kRequired, "features of a head"},
    {"state", KeyKind::kExtent, kRequired, "features of a head's state"},
    {"groups", KeyKind::kInteger, "1", "heads of a group read and write states alike"},
    {"kernel", KeyKind::kInteger, "4", "positions that the convolution sees"},
    {"chunk", KeyKind::kInteger, "256", "positions that are scanned together"},
    {"bias", KeyKind::kFlag, "false", "of the projections"},
    {"conv_bias", KeyKind::kFlag, "true", "of the convolution"},
    {"out_bias", KeyKind::kFlag, kOptional, "of the last projection; as bias where absent"},
    {"norm", KeyKind::kFlag, "true", "what is gated is normalised; else it is only gated"},
    {"factors", KeyKind::kFlag, "false",
     "what goes in and each feature that it is projected to have factors, as Falcon H1's code has "
     "it"},
};
// Mamba2Mixer and what is copied from it (models/mamba2/modeling_mamba2.py).
class Mixer {
 public:
  explicit Mixer(Layer& layer)
      : l(layer),
        heads(layer.integer("heads")),
        groups(layer.integer("groups")),
        head_size(layer.extent("head_size")),
        state(layer.extent("state")),
        inner(head_size * Dim(heads)),
        read(state * Dim(groups)) {}

  std::vector<TensorId> run() {
    const Dim convolved = inner + read + read;
    const std::vector<TensorId> parts =
        cut(projected(inner + convolved + Dim(heads)), {inner, convolved, Dim(heads)});
    const TensorId decay =
        l.node("Neg", {l.node("Exp", {wide(l.parameter("A_log", {Dim(heads)}))})});
    const std::vector<TensorId> xbc = cut(convolution(parts[1], convolved), {inner, read, read});
    const TensorId scanned =
        l.composite("StateSpaceScan",
                    {shaped(xbc[0], heads, head_size), parts[2], decay,
                     shaped(xbc[1], groups, state), shaped(xbc[2], groups, state),
                     l.parameter("D", {Dim(heads)}), l.parameter("dt_bias", {Dim(heads)})},
                    {{"chunk", l.integer("chunk")}, {"kernel", l.integer("kernel")}});
    const TensorId flat = l.node("Reshape", {scanned, l.constant({0, 0, inner})});
    const TensorId gated = l.flag("norm") ? norm(flat, parts[0])
                                          : l.node("Mul", {flat, l.composite("Silu", {parts[0]})});
    const TensorId y = l.cast(gated, Layer::Cast::kNarrows);
    const bool bias = l.flag(l.has("out_bias") ? "out_bias" : "bias");
    return {linear("out_proj", y, l.extent_of(l.input(), -1), bias)};
  }

 private:
  TensorId wide(TensorId x) { return l.cast(x, Layer::Cast::kWidens); }

  TensorId projected(const Dim& out) {
    if (!l.flag("factors")) return linear("in_proj", l.input(), out, l.flag("bias"));
    const TensorId x = l.node("Mul", {l.input(), l.scalar(1)});
    const TensorId factors = l.buffer("mup_vector", {Dim(1), Dim(1), out}, DType::kFloat32);
    return l.node("Mul", {linear("in_proj", x, out, l.flag("bias")), factors});
  }

  // A module of its own, which adapters may stand beside.
  TensorId linear(const std::string& name, TensorId x, const Dim& out, bool bias) {
    const std::string around = std::exchange(l.path, l.path + "." + name);
    std::vector<TensorId> inputs{x, l.parameter("weight", {out, l.extent_of(x, -1)})};
    if (bias) inputs.push_back(l.parameter("bias", {out}));
    const TensorId y = l.composite("Linear", std::move(inputs));
    l.path = around;
    return y;
  }

  std::vector<TensorId> cut(TensorId x, const std::vector<Dim>& sizes) {
    Node node;
    node.op = "Split";
    node.attributes.set("axis", int64_t{-1});
    node.inputs = {x, l.constant(sizes)};
    return l.nodes(std::move(node), sizes.size());
  }

  TensorId shaped(TensorId x, int64_t count, const Dim& size) {
    return l.node("Reshape", {x, l.constant({0, 0, Dim(count), size})});
  }
  TensorId transposed(TensorId x) {
    return l.node("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  }

  // causal_conv1d_fn(): of each channel, padded on both sides and cut.
  TensorId convolution(TensorId x, const Dim& channels) {
    const int64_t kernel = l.integer("kernel");
    Node node;
    node.op = "Conv";
    node.attributes.set("group", *l.builder().binder().integer(channels));
    node.attributes.set("kernel_shape", std::vector<int64_t>{kernel});
    node.attributes.set("pads", std::vector<int64_t>{kernel - 1, kernel - 1});
    node.inputs = {transposed(x), l.parameter("conv1d.weight", {channels, Dim(1), Dim(kernel)})};
    if (l.flag("conv_bias")) node.inputs.push_back(l.parameter("conv1d.bias", {channels}));
    const TensorId y = l.nodes(std::move(node), 1)[0];
    const TensorId causal =
        l.node("Slice", {y, l.constant({0}), l.constant({l.extent_of(x, 1)}), l.constant({2})});
    return transposed(l.composite("Silu", {causal}));
  }

  // RMSNormGated.forward(): gated, then each group normalised, in 32 bits.
  TensorId norm(TensorId x, TensorId gate) {
    const TensorId gated = l.node("Mul", {wide(x), l.composite("Silu", {wide(gate)})});
    const Dim size = group_share(l, "groups", inner);
    const TensorId apart = l.node("Reshape", {gated, l.constant({0, 0, Dim(groups), size})});
    const TensorId normed = l.composite("RmsNorm", {apart}, {{"epsilon", 1e-5}});
    const TensorId flat = l.node("Reshape", {normed, l.constant({0, 0, inner})});
    return l.node("Mul", {l.parameter("norm.weight", {inner}), flat});
  }

  Layer& l;
  int64_t heads, groups;
  Dim head_size, state, inner, read;
};

std::vector<TensorId> mixer(Layer& layer) { return Mixer(layer).run(); }

constexpr LayerType kStateSpaceLayers[] = {
    {"mamba2", 1, 1, kMixerKeys, mixer, "Mamba 2's layer of [N, S, E]"},
};

}  // namespace

std::span<const LayerType> state_space_layers() { return kStateSpaceLayers; }

}  // namespace plimsoll::config
