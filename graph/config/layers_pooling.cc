// Pooling over 1 to 3 spatial axes, windowed, global and adaptive.
#include <fmt/format.h>

#include "graph/config/layer.h"
#include "graph/config/windows.h"

namespace plimsoll::config {
namespace {

constexpr Key kMaxKeys[] = {
    {"kernel", KeyKind::kIntegers, kRequired, "extent of the window"},
    {"stride", KeyKind::kIntegers, kOptional, "step of the window; its extent where absent"},
    {"padding", KeyKind::kIntegers, "0", "rows around that never win", 0},
    {"dilation", KeyKind::kIntegers, "1", "spacing inside the window"},
    {"ceil", KeyKind::kFlag, "false", "a last window may hang over the end"},
};

constexpr Key kAverageKeys[] = {
    {"kernel", KeyKind::kIntegers, kRequired, "extent of the window"},
    {"stride", KeyKind::kIntegers, kOptional, "step of the window; its extent where absent"},
    {"padding", KeyKind::kIntegers, "0", "zeros around", 0},
    {"dilation", KeyKind::kIntegers, "1", "spacing inside the window"},
    {"ceil", KeyKind::kFlag, "false", "a last window may hang over the end"},
    {"count_padding", KeyKind::kFlag, "true", "the zeros around count as elements"},
};

constexpr Key kAdaptiveKeys[] = {
    {"size", KeyKind::kIntegers, kRequired, "output extent of every spatial axis"},
};

std::vector<TensorId> pool(Layer& layer, const char* op, const Windows& windows, bool ceil,
                           bool count_padding) {
  Node node;
  node.op = op;
  node.inputs = {layer.input()};
  node.attributes.set("kernel_shape", windows.kernel);
  node.attributes.set("strides", windows.stride);
  node.attributes.set("pads", windows.pads);
  node.attributes.set("dilations", windows.dilation);
  node.attributes.set("ceil_mode", int64_t{ceil});
  if (node.op == "AveragePool") node.attributes.set("count_include_pad", int64_t{count_padding});
  return layer.nodes(std::move(node), 1);
}

std::vector<TensorId> max_pool(Layer& layer) {
  const Windows windows = read_windows(layer);
  return pool(layer, "MaxPool", windows, layer.flag("ceil"), false);
}

std::vector<TensorId> average_pool(Layer& layer) {
  const Windows windows = read_windows(layer);
  return pool(layer, "AveragePool", windows, layer.flag("ceil"), layer.flag("count_padding"));
}

std::vector<TensorId> global_average(Layer& layer) {
  return {layer.node("GlobalAveragePool", {layer.input()})};
}
std::vector<TensorId> global_max(Layer& layer) {
  return {layer.node("GlobalMaxPool", {layer.input()})};
}

// ONNX has no adaptive pool: it is a plain one where the windows are equal.
std::vector<TensorId> adaptive_average(Layer& layer) {
  const Shape shape = layer.shape_of(layer.input());
  const size_t axes = shape.size() < 3 ? 1 : shape.size() - 2;
  const std::vector<int64_t> sizes = layer.integers("size", axes);
  if (std::vector<int64_t>(axes, 1) == sizes) return global_average(layer);
  Windows windows;
  windows.pads.assign(2 * axes, 0);
  windows.dilation.assign(axes, 1);
  for (size_t i = 0; i < axes && !layer.failed(); ++i) {
    const Dim in = layer.extent_of(layer.input(), static_cast<int64_t>(i) + 2);
    const auto extent = layer.builder().binder().integer(in);
    if (!extent || *extent % sizes[i] != 0) {
      layer.fail_at(
          "size", "E342",
          fmt::format("an extent of {} has no equal windows for {} outputs", in.text(), sizes[i]));
      return {};
    }
    windows.kernel.push_back(*extent / sizes[i]);
  }
  windows.stride = windows.kernel;
  return pool(layer, "AveragePool", windows, false, true);
}

constexpr LayerType kPoolingLayers[] = {
    {"max_pool1d", 1, 1, kMaxKeys, max_pool, "largest value of each window of [N,C,L]"},
    {"max_pool2d", 1, 1, kMaxKeys, max_pool, "largest value of each window of [N,C,H,W]"},
    {"max_pool3d", 1, 1, kMaxKeys, max_pool, "largest value of each window of [N,C,D,H,W]"},
    {"average_pool1d", 1, 1, kAverageKeys, average_pool, "mean of each window of [N,C,L]"},
    {"average_pool2d", 1, 1, kAverageKeys, average_pool, "mean of each window of [N,C,H,W]"},
    {"average_pool3d", 1, 1, kAverageKeys, average_pool, "mean of each window of [N,C,D,H,W]"},
    {"adaptive_average_pool", 1, 1, kAdaptiveKeys, adaptive_average, "mean of equal windows"},
    {"global_average_pool", 1, 1, {}, global_average, "mean over all spatial axes"},
    {"global_max_pool", 1, 1, {}, global_max, "largest value over all spatial axes"},
};

}  // namespace

std::span<const LayerType> pooling_layers() { return kPoolingLayers; }

}  // namespace plimsoll::config
