#include "graph/config/windows.h"

#include <fmt/format.h>

namespace plimsoll::config {
namespace {

size_t axes_of(const LayerType& type) {
  return static_cast<size_t>(type.name[type.name.size() - 2] - '0');
}

// Zeros that keep the extent at stride 1; where they are odd the end has one more.
std::vector<int64_t> same_pads(Layer& layer, const Windows& windows) {
  const size_t axes = windows.kernel.size();
  std::vector<int64_t> pads(2 * axes, 0);
  for (size_t i = 0; i < axes; ++i) {
    if (windows.stride[i] != 1) {
      layer.fail_at("padding", "E342",
                    fmt::format("padding \"same\" needs stride 1, found {}", windows.stride[i]),
                    "write the padding as numbers");
      return pads;
    }
    const int64_t total = windows.dilation[i] * (windows.kernel[i] - 1);
    pads[i] = total / 2;
    pads[axes + i] = total - total / 2;
  }
  return pads;
}

std::vector<int64_t> read_pads(Layer& layer, const Windows& windows) {
  const size_t axes = windows.kernel.size();
  const JsonValue* value = layer.json("padding");
  if (value && value->string() && *value->string() == "same") return same_pads(layer, windows);
  std::vector<int64_t> pads = layer.integers("padding");
  if (pads.size() == 2 * axes) return pads;
  pads = layer.integers("padding", axes);
  pads.reserve(2 * axes);
  for (size_t i = 0; i < axes; ++i) pads.push_back(pads[i]);
  return pads;
}

}  // namespace

Windows read_windows(Layer& layer) {
  const size_t axes = axes_of(layer.type());
  const size_t rank = layer.shape_of(layer.input()).size();
  if (rank != axes + 2 && !layer.failed()) {
    layer.fail("E342", fmt::format("\"{}\" needs an input of rank {}, found {}", layer.type().name,
                                   axes + 2, layer.builder().describe_tensor(layer.input())));
  }
  Windows windows;
  windows.kernel = layer.integers("kernel", axes);
  windows.stride = layer.has("stride") || layer.type().name.starts_with("conv")
                       ? layer.integers("stride", axes)
                       : windows.kernel;
  windows.dilation = layer.integers("dilation", axes);
  windows.pads = read_pads(layer, windows);
  return windows;
}

Dim group_share(Layer& layer, std::string_view key, const Dim& channels) {
  const int64_t groups = layer.integer(key);
  if (const auto share = divide_exactly(channels, groups)) return *share;
  const auto number = layer.builder().binder().integer(channels);
  if (number && *number % groups == 0) return *number / groups;
  layer.fail_at(
      key, "E342",
      fmt::format("\"{}\" is {}, which does not divide {} channels", key, groups, channels.text()));
  return 1;
}

}  // namespace plimsoll::config
