#include "estimator/library/workspace/on_card.h"

#include <algorithm>

namespace plimsoll {

std::optional<int64_t> product_for_each_image(const WorkspaceShape& v, Pass pass, DType dtype) {
  const bool pointwise = v.groups == 1 && v.r == 1 && v.s == 1 && v.stride_h == 1 &&
                         v.stride_w == 1 && v.pad_h == 0 && v.pad_w == 0;
  // A larger filter is read again for each image, and rows of planes that do not begin at 8 bytes
  // slow a product down more than turning them around would, unless the filter is small.
  constexpr int64_t kLargestFilter = 1 << 18, kSmallFilter = 1 << 15;
  const int64_t plane = v.h * v.w, filter = v.c * v.k;
  const bool aligned = plane * (bits(dtype) / 8) % 8 == 0 || bits(dtype) == 32;
  if (!pointwise || plane == 1 || filter > (aligned ? kLargestFilter : kSmallFilter)) {
    return std::nullopt;
  }
  return pass == Pass::kBackwardWeights ? 4 * v.n * filter : 0;
}

int64_t largest_for_weights(const WorkspaceShape& v, Pass pass) {
  constexpr double kPartsOfAnImage = 10, kMost = 1e15;
  if (pass != Pass::kBackwardWeights || v.groups != 1 || v.r != 1 || v.s != 1) return 0;
  const double filter = 4 * static_cast<double>(v.c) * static_cast<double>(v.k);
  return static_cast<int64_t>(std::min(kMost, kPartsOfAnImage * static_cast<double>(v.n) * filter));
}

}  // namespace plimsoll
