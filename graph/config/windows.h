// What convolutions and pools share: windows over the spatial axes.
#pragma once

#include <string_view>
#include <vector>

#include "graph/config/layer.h"

namespace plimsoll::config {

struct Windows {
  std::vector<int64_t> kernel, stride, dilation;
  std::vector<int64_t> pads;  // all begins, then all ends
};

// Reads "kernel", "stride", "padding" and "dilation" for the number of spatial axes that the type's
// name ends with ("conv2d"). E342 where the input has another rank.
Windows read_windows(Layer& layer);

// `channels` divided by the layer's number of groups; E342 where it does not divide.
Dim group_share(Layer& layer, std::string_view key, const Dim& channels);

}  // namespace plimsoll::config
