// Convolutions: Conv and ConvTranspose over 1 to 3 spatial axes.
#include <fmt/format.h>

#include "graph/config/layer.h"
#include "graph/config/windows.h"

namespace plimsoll::config {
namespace {

constexpr Key kConvolutionKeys[] = {
    {"out", KeyKind::kExtent, kRequired, "output channels"},
    {"in", KeyKind::kExtent, kOptional, "input channels, checked where given"},
    {"kernel", KeyKind::kIntegers, kRequired, "extent of the filter"},
    {"stride", KeyKind::kIntegers, "1", "step of the filter"},
    {"padding", KeyKind::kIntegers, "0",
     "zeros around: one number, one per axis, all begins then all ends, or \"same\"", 0},
    {"dilation", KeyKind::kIntegers, "1", "spacing of the filter's taps"},
    {"groups", KeyKind::kInteger, "1", "independent groups of channels"},
    {"bias", KeyKind::kFlag, "true", "adds one number per output channel"},
};

constexpr Key kTransposedKeys[] = {
    {"out", KeyKind::kExtent, kRequired, "output channels"},
    {"in", KeyKind::kExtent, kOptional, "input channels, checked where given"},
    {"kernel", KeyKind::kIntegers, kRequired, "extent of the filter"},
    {"stride", KeyKind::kIntegers, "1", "step of the filter"},
    {"padding", KeyKind::kIntegers, "0", "rows cut off: as for a convolution", 0},
    {"output_padding", KeyKind::kIntegers, "0", "rows added at the end", 0},
    {"dilation", KeyKind::kIntegers, "1", "spacing of the filter's taps"},
    {"groups", KeyKind::kInteger, "1", "independent groups of channels"},
    {"bias", KeyKind::kFlag, "true", "adds one number per output channel"},
};

std::vector<TensorId> finish(Layer& layer, const Windows& windows, Node node, const Dim& out) {
  node.attributes.set("kernel_shape", windows.kernel);
  node.attributes.set("strides", windows.stride);
  node.attributes.set("pads", windows.pads);
  node.attributes.set("dilations", windows.dilation);
  node.attributes.set("group", layer.integer("groups"));
  if (layer.flag("bias")) node.inputs.push_back(layer.parameter("bias", {out}));
  return layer.nodes(std::move(node), 1);
}

std::vector<TensorId> convolution(Layer& layer) {
  const Windows windows = read_windows(layer);
  const Dim out = layer.extent("out");
  const Dim in = layer.extent_of(layer.input(), 1);
  layer.expect_extent("in", in);
  Shape weight{out, group_share(layer, "groups", in)};
  weight.insert(weight.end(), windows.kernel.begin(), windows.kernel.end());
  Node node;
  node.op = "Conv";
  node.inputs = {layer.input(), layer.parameter("weight", std::move(weight))};
  return finish(layer, windows, std::move(node), out);
}

std::vector<TensorId> transposed(Layer& layer) {
  const Windows windows = read_windows(layer);
  const Dim out = layer.extent("out");
  const Dim in = layer.extent_of(layer.input(), 1);
  layer.expect_extent("in", in);
  Shape weight{in, group_share(layer, "groups", out)};
  weight.insert(weight.end(), windows.kernel.begin(), windows.kernel.end());
  Node node;
  node.op = "ConvTranspose";
  node.attributes.set("output_padding", layer.integers("output_padding", windows.kernel.size()));
  node.inputs = {layer.input(), layer.parameter("weight", std::move(weight))};
  return finish(layer, windows, std::move(node), out);
}

constexpr LayerType kConvolutionLayers[] = {
    {"conv1d", 1, 1, kConvolutionKeys, convolution, "convolution of [N,C,L]"},
    {"conv2d", 1, 1, kConvolutionKeys, convolution, "convolution of [N,C,H,W]"},
    {"conv3d", 1, 1, kConvolutionKeys, convolution, "convolution of [N,C,D,H,W]"},
    {"conv_transpose1d", 1, 1, kTransposedKeys, transposed, "transposed convolution of [N,C,L]"},
    {"conv_transpose2d", 1, 1, kTransposedKeys, transposed, "transposed convolution of [N,C,H,W]"},
    {"conv_transpose3d", 1, 1, kTransposedKeys, transposed,
     "transposed convolution of [N,C,D,H,W]"},
};

}  // namespace

std::span<const LayerType> convolution_layers() { return kConvolutionLayers; }

}  // namespace plimsoll::config
