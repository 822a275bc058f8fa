#include "graph/eager/layout.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace plimsoll::eager {

LayoutRef contiguous_layout(DType dtype, Shape sizes) {
  auto layout = std::make_shared<Layout>();
  layout->dtype = dtype;
  layout->strides.resize(sizes.size());
  Dim stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    layout->strides[i] = stride;
    stride *= sizes[i];
  }
  layout->count = std::move(stride);
  layout->bytes = bytes(dtype, layout->count);
  layout->sizes = std::move(sizes);
  layout->contiguous = true;
  return layout;
}

LayoutRef strided_layout(DType dtype, Shape sizes, Shape strides, Decider& decider) {
  auto layout = std::make_shared<Layout>();
  layout->dtype = dtype;
  layout->count = elements(sizes);
  layout->bytes = bytes(dtype, layout->count);
  Dim expected = 1;
  layout->contiguous = true;
  for (size_t i = sizes.size(); i-- > 0 && layout->contiguous;) {
    if (strides[i] != expected && !decider.is_one(sizes[i])) layout->contiguous = false;
    expected *= sizes[i];
  }
  layout->sizes = std::move(sizes);
  layout->strides = std::move(strides);
  return layout;
}

LayoutRef channels_last_layout(DType dtype, const Shape& sizes, Decider& decider) {
  Shape strides(sizes.size());
  Dim stride = 1;
  strides[1] = stride;
  stride *= sizes[1];
  for (size_t i = sizes.size(); i-- > 2;) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  strides[0] = stride;
  return strided_layout(dtype, sizes, std::move(strides), decider);
}

bool is_dense(const Layout& layout, Decider& decider) {
  if (layout.contiguous) return true;
  std::vector<size_t> order(layout.sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::erase_if(order, [&](size_t i) { return decider.is_one(layout.sizes[i]); });
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return decider.less(layout.strides[a], layout.strides[b]);
  });
  Dim expected = 1;
  for (const size_t i : order) {
    if (!decider.equal(layout.strides[i], expected)) return false;
    expected *= layout.sizes[i];
  }
  return true;
}

LayoutRef of_type(DType dtype, const Layout& like) {
  auto layout = std::make_shared<Layout>(like);
  layout->dtype = dtype;
  layout->bytes = bytes(dtype, like.count);
  return layout;
}

LayoutRef dense_like(const Layout& like, DType dtype, Decider& decider) {
  if (is_dense(like, decider)) return of_type(dtype, like);
  std::vector<size_t> order(like.sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return decider.less(like.strides[b], like.strides[a]);
  });
  Shape strides(order.size());
  Dim stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= like.sizes[order[i]];
  }
  return strided_layout(dtype, like.sizes, std::move(strides), decider);
}

}  // namespace plimsoll::eager
