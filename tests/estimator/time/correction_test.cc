#include "estimator/time/correction.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
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

// In single precision; the weights of a thousand points add up to as much as 950.
constexpr double kSingle = 3e-5;

TEST_CASE("a correction looked up is the sum over all of its points, whatever is swept") {
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
      const CorrectionTable by_first(*c, 0), by_last(*c, width - 1);
      for (int i = 0; i < 20; ++i) {
        // A measured shape, moved in each feature by up to a reach and a half.
        const size_t from = random() % c->weights.size();
        std::vector<double> features(width);
        for (size_t f = 0; f < width; ++f) {
          const double move = 3 * (static_cast<double>(random()) / 4294967296.0 - .5) * c->reach[f];
          features[f] = c->points[from * width + f] + (i % 4 == 0 ? 0 : .2 * i / 4 * move);
        }
        const int device = i % 2 ? -1 : c->device_of[from];
        const Corrected plain = by_definition(*c, features, device);
        // Beside others: the same but for the first feature, the last, and the second.
        std::vector<Features> at(6, padded(features));
        at[1][0] += .1;
        at[2][width - 1] += .1;
        at[3][1] += .1;
        for (const CorrectionTable* table : {&by_first, &by_last}) {
          std::vector<Corrected> found(at.size()), alone(1);
          table->look_up(at, device, found);
          for (const size_t same : {0, 4, 5}) {
            CHECK(std::fabs(found[same].log_factor - plain.log_factor) < kSingle);
            CHECK(std::fabs(found[same].support - plain.support) < kSingle);
          }
          for (size_t k = 0; k < at.size(); ++k) {
            table->look_up({&at[k], 1}, device, alone);
            CHECK(found[k].log_factor == alone[0].log_factor);
            CHECK(found[k].support == alone[0].support);
          }
        }
        ++compared;
        near += plain.support > 0 ? 1 : 0;
      }
    }
  }
  CHECK(compared > 400);
  CHECK(near > compared / 4);
  CHECK(near < compared);
}

// Many points at a place, of which some share more; places at the ends of each other's reach.
TEST_CASE("a correction is looked up at, between and a reach beside the places of its points") {
  std::mt19937 random(11);
  for (const int places : {1, 3, 40}) {
    CAPTURE(places);
    Correction c;
    c.reach = {8, 3};
    c.devices = {"a", "b"};
    for (int i = 0; i < 500; ++i) {
      c.points.push_back(4 * static_cast<double>(random() % places) - 12);
      c.points.push_back(static_cast<double>(random() % 9) / 2);
      c.device_of.push_back(i % 2);
      c.weights.push_back(static_cast<double>(random() % 2001) / 1e4 - .1);
    }
    c.kinship = .5;
    const CorrectionTable table(c, 0);
    std::vector<Features> at;
    for (double place = -24; place < 4 * places; place += .5) at.push_back({place, 2.25});
    std::ranges::shuffle(at, random);
    std::vector<Corrected> found(at.size());
    table.look_up(at, 1, found);
    for (size_t i = 0; i < at.size(); ++i) {
      const Corrected plain = by_definition(c, {at[i][0], at[i][1]}, 1);
      CHECK(std::fabs(found[i].log_factor - plain.log_factor) < kSingle);
      CHECK(std::fabs(found[i].support - plain.support) < 1e-6);
    }
  }
}

TEST_CASE("a correction that reaches as little or as far as one may, in all features") {
  for (const double reach : {1e-3, 1e3}) {
    CAPTURE(reach);
    Correction c;
    c.reach.assign(kMaxFeatures, reach);
    c.points.assign(2 * kMaxFeatures, 0);
    for (size_t f = 0; f < kMaxFeatures; ++f) c.points[f] = 1 + .25 * reach;
    c.device_of = {0, 0};
    c.weights = {.8, .4};
    const CorrectionTable table(c, 0);
    Features halfway;
    halfway.fill(1 + .75 * reach);  // half a reach beside the first point
    const std::array<Features, 3> at{padded(std::span(c.points).first(kMaxFeatures)), halfway,
                                     Features{-5e3, -5e3, -5e3}};
    std::array<Corrected, 3> found;
    table.look_up(at, 0, found);
    const double other = reach > 1 ? std::pow(.749, 8) : 0;  // the second, at 0
    CHECK(found[0].log_factor == doctest::Approx(.8 + .4 * other).epsilon(1e-3));
    CHECK(found[0].support == doctest::Approx(1));
    CHECK(found[1].support == doctest::Approx(std::pow(.5, 8)));
    CHECK(found[2].log_factor == 0);
    CHECK(found[2].support == 0);
  }
}

TEST_CASE("a correction without points says nothing") {
  const CorrectionTable table({}, 0);
  const Features at{1, 2, 3};
  Corrected found{.log_factor = 1, .support = 1};
  table.look_up({&at, 1}, 0, {&found, 1});
  CHECK(found.log_factor == 0);
  CHECK(found.support == 0);
}

}  // namespace
}  // namespace plimsoll
