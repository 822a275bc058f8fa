#include "estimator/time/lanes.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

namespace plimsoll {
namespace {

// Numbers, wholes and halves of every size, and what stands beside them.
TEST_CASE("lanes: numbers are rounded as the standard library rounds them") {
  std::mt19937_64 random(3);
  Lanes lanes;
  for (int i = 0; i < 4000; ++i) {
    const double whole = std::ldexp(static_cast<double>(random() % 1000), static_cast<int>(i % 70));
    const double beside = std::nextafter(whole + (i % 3) * .5, i % 2 ? 0 : 1e300);
    for (const double x : {whole, whole + .5, beside}) {
      CAPTURE(x);
      CHECK(rounded_up(x) == std::ceil(x));
      CHECK(rounded_down(x) == std::floor(x));
      lanes.set(static_cast<size_t>(i) % kLaneCount, x);
    }
    lanes.set(static_cast<size_t>(i + 1) % kLaneCount, 0);
    const Lanes up = rounded_up(lanes), down = rounded_down(lanes);
    for (size_t at = 0; at < kLaneCount && i > 8; ++at) {
      CHECK(lane(up, at) == std::ceil(lane(lanes, at)));
      CHECK(lane(down, at) == std::floor(lane(lanes, at)));
    }
  }
}

TEST_CASE("lanes: what one formula says of each lane, of some and of all") {
  static_assert(kLaneCount == 8 && LanesOf<float>::kCount == 16);
  Lanes x;
  for (size_t i = 0; i < kLaneCount; ++i) x.set(i, static_cast<double>(i) - 1);
  const Lanes bounded = larger(x, Lanes(1));
  for (size_t i = 0; i < kLaneCount; ++i) {
    CHECK(lane(bounded, i) == std::max(static_cast<double>(i) - 1, 1.0));
    CHECK(lane(smaller(x, Lanes(1)), i) == std::min(static_cast<double>(i) - 1, 1.0));
    CHECK(lane(absolute(x), i) == std::fabs(static_cast<double>(i) - 1));
    CHECK(lane(x > 0, i) == (i > 1));
  }
  CHECK(any(x == 2));
  CHECK(any(x == 6));
  CHECK_FALSE(any(x > 6));
  CHECK(sum(x) == 20);
  CHECK(highest(x) == 6);
  CHECK(highest(0 - x) == 1);
  for (const size_t i : {5, 12}) {
    LanesOf<float> narrow = 1;
    narrow.set(i, 7);
    CHECK(narrow[i] == 7);
    CHECK(sum(narrow) == 22);
    CHECK(highest(narrow) == 7);
  }
}

}  // namespace
}  // namespace plimsoll
