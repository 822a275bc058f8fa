// Layout: type, sizes and strides of a tensor. Those of equal tensors may be shared: none is
// changed once it is made. Cost: linear in dimensions.
#pragma once

#include <memory>

#include "graph/symbol/shape.h"

namespace plimsoll::eager {

struct Layout {
  DType dtype = DType::kUndefined;
  Shape sizes;
  Shape strides;  // in elements
  Dim count;      // product of sizes
  Dim bytes;      // of a dense tensor
  bool contiguous = false;
};
using LayoutRef = std::shared_ptr<const Layout>;

LayoutRef contiguous_layout(DType dtype, Shape sizes);
LayoutRef strided_layout(DType dtype, Shape sizes, Shape strides, Decider& decider);
// Dense with the second dimension innermost, then the last: PyTorch's channels_last, NHWC.
LayoutRef channels_last_layout(DType dtype, const Shape& sizes, Decider& decider);
// The same of another type, where it is dense.
LayoutRef of_type(DType dtype, const Layout& like);
// Dense, its dimensions in memory in the order of `like` (empty_like's layout).
LayoutRef dense_like(const Layout& like, DType dtype, Decider& decider);
// Dense, without overlap, in some order of dimensions.
bool is_dense(const Layout& layout, Decider& decider);

}  // namespace plimsoll::eager
