#include "estimator/app/sweep/size_axis.h"

#include <limits>

namespace plimsoll {

int64_t points_of(std::span<const SizeAxis> sizes) {
  int64_t points = 1;
  for (const SizeAxis& axis : sizes) {
    if (__builtin_mul_overflow(points, static_cast<int64_t>(axis.values.size()), &points))
      return std::numeric_limits<int64_t>::max();
  }
  return points;
}

std::vector<size_t> place_of(int64_t point, std::span<const SizeAxis> sizes) {
  std::vector<size_t> place(sizes.size());
  for (size_t axis = sizes.size(); axis-- > 0;) {
    const auto count = static_cast<int64_t>(sizes[axis].values.size());
    place[axis] = static_cast<size_t>(point % count);
    point /= count;
  }
  return place;
}

}  // namespace plimsoll
