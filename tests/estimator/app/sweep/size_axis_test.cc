#include "estimator/app/sweep/size_axis.h"

#include <doctest/doctest.h>

#include <limits>

using namespace plimsoll;

TEST_CASE("sweep: places in a grid, the last axis fastest") {
  const std::vector<SizeAxis> sizes = {{"a", {1, 2}}, {"b", {3, 4, 5}}};
  CHECK(points_of(sizes) == 6);
  CHECK(place_of(0, sizes) == std::vector<size_t>{0, 0});
  CHECK(place_of(4, sizes) == std::vector<size_t>{1, 1});
  CHECK(points_of({}) == 1);
  CHECK(place_of(0, {}).empty());
  const std::vector<SizeAxis> many(70, {"a", {1, 2}});
  CHECK(points_of(many) == std::numeric_limits<int64_t>::max());
}
