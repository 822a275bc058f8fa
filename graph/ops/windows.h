// Sliding windows: what convolutions and pools share.
#pragma once

#include "graph/ops/op_row.h"

namespace plimsoll::ops {

// One entry per spatial dimension; `pads` has the begin sides, then the end sides.
struct Windows {
  std::vector<Dim> kernel;
  std::vector<int64_t> strides, dilations, pads;
  bool same =
      false;  // auto_pad SAME_UPPER or SAME_LOWER: the extents follow from the strides alone
};

// The windows of a node over `spatial` dimensions from its attributes strides, dilations, pads and
// auto_pad, checked: E242 stride below 1, E243 dilation below 1, E244 negative padding, E246 lists
// of another length. `kernel` may come from a filter's shape; an attribute kernel_shape must agree.
Result<Windows> read_windows(InferContext& c, size_t spatial, std::vector<Dim> kernel = {});

// Extents after sliding over `in`. E241 where a window does not fit. `ceil_mode` keeps a last
// window that sticks out; since opset 22 not where it would start behind the input.
Result<Shape> slide(InferContext& c, const Windows& windows, const Shape& in, bool ceil_mode);

// (kernel - 1) * dilation + 1
Dim reach(const Windows& windows, size_t i);

// E245 where `group` is below 1 or does not divide `channels`.
Result<void> check_group(InferContext& c, int64_t group, const Dim& channels);

}  // namespace plimsoll::ops
