// How a framework keeps images.
#pragma once

#include <cstdint>
#include <string_view>

namespace plimsoll {

// Ordinary cores convolve channels first, tensor cores channels last: what comes the other way is
// turned around before and after the convolution. kNative: as whoever runs it does by himself.
enum class Layout : uint8_t { kNative, kChannelsFirst, kChannelsLast };

constexpr std::string_view name(Layout layout) {
  return layout == Layout::kNative ? "" : layout == Layout::kChannelsFirst ? "nchw" : "nhwc";
}

// kNative for a word that is none of both.
constexpr Layout layout_from_name(std::string_view word) {
  return word == "nchw"   ? Layout::kChannelsFirst
         : word == "nhwc" ? Layout::kChannelsLast
                          : Layout::kNative;
}

}  // namespace plimsoll
