#include "estimator/time/correction.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace plimsoll {
namespace {

// The sum as its definition says, every point looked at.
Corrected by_definition(const Correction& c, const std::vector<double>& features, int device) {
  Corrected result;
  const size_t width = c.reach.size();
  for (size_t i = 0; i < c.weights.size(); ++i) {
    const std::span<const double> point = std::span(c.points).subspan(i * width, width);
    const double near =
        nearness(features, point, c.reach) * (c.device_of[i] == device ? 1 : c.kinship);
    result.log_factor += c.weights[i] * near;
    result.support = std::max(result.support, near);
  }
  result.log_factor = std::clamp(result.log_factor, -1.2, 1.2);
  return result;
}

TEST_CASE("a correction that skips far points is the sum over all of them") {
  const auto all = shipped_calibrations();
  REQUIRE(all.has_value());
  std::mt19937 random(7);
  int compared = 0, near = 0;
  for (const Calibration& calibration : *all) {
    for (const Fit& fit : calibration.fits) {
      const auto c = with_points(fit.correction);
      REQUIRE(c.has_value());
      if (c->weights.empty()) continue;
      CAPTURE(c->file);
      const size_t width = c->reach.size();
      for (int i = 0; i < 20; ++i) {
        // A measured shape, moved in each feature by up to a reach and a half.
        const size_t from = random() % c->weights.size();
        std::vector<double> features(width);
        for (size_t f = 0; f < width; ++f) {
          const double move = 3 * (static_cast<double>(random()) / 4294967296.0 - .5) * c->reach[f];
          features[f] = c->points[from * width + f] + (i % 4 == 0 ? 0 : .2 * i / 4 * move);
        }
        const int device = i % 2 ? -1 : c->device_of[from];
        const Corrected fast = correct(*c, features, device);
        const Corrected plain = by_definition(*c, features, device);
        CHECK(fast.log_factor == doctest::Approx(plain.log_factor).epsilon(1e-9));
        CHECK(fast.support == doctest::Approx(plain.support).epsilon(1e-9));
        ++compared;
        near += plain.support > 0 ? 1 : 0;
      }
    }
  }
  CHECK(compared > 400);
  CHECK(near > compared / 4);
  CHECK(near < compared);
}

}  // namespace
}  // namespace plimsoll
