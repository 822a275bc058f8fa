#include "calibrate/factors.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

namespace plimsoll::calibrate {
namespace {

// Kernels that take `factor` times what is predicted, by chance `noise` more or less.
std::vector<MeasuredRatio> kernels(size_t count, double factor, double noise, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> off(0, noise);
  std::uniform_real_distribution<double> size(-3, 3);
  std::vector<MeasuredRatio> all;
  for (size_t i = 0; i < count; ++i) {
    all.push_back({.kernel_class = "conv",
                   .arithmetic = "f32",
                   .pass = "forward",
                   .ln = std::log(factor) + off(random),
                   .predicted = std::exp(size(random)),
                   .range90 = .3});
  }
  return all;
}

TEST_CASE("factors: a synthetic card's are recovered within 1 % from kernels with 3 % of noise") {
  uint32_t seed = 1;
  for (const double factor : {.5, .9, 1.3, 2.0}) {
    CAPTURE(factor);
    const auto fits = fit_factors(kernels(400, factor, .03, seed++));
    REQUIRE(fits.size() == 1);
    CHECK(fits[0].refused.empty());
    CHECK(fits[0].factor.factor == doctest::Approx(factor).epsilon(.01));
    CHECK(fits[0].factor.kernels == 400);
    CHECK(fits[0].factor.error_before == doctest::Approx(std::abs(1 / factor - 1)).epsilon(.1));
    CHECK(fits[0].factor.error_after < .04);
    // 90 of 100 within 1.645 deviations.
    CHECK(fits[0].factor.range90 == doctest::Approx(1.645 * .03).epsilon(.25));
  }
}

TEST_CASE("factors: one wrong record moves nothing") {
  auto all = kernels(40, 1.3, .03, 7);
  const double clean = fit_factors(all)[0].factor.factor;
  all[11].ln += std::log(1000);
  CHECK(fit_factors(all)[0].factor.factor == doctest::Approx(clean).epsilon(.01));
}

TEST_CASE("factors: few kernels that disagree say little, and fewer than four nothing") {
  std::vector<MeasuredRatio> all = kernels(4, 1, .1, 3);
  const double off[] = {.7, -.5, .1, .9};
  for (size_t i = 0; i < all.size(); ++i) all[i].ln = off[i];
  const double drawn = std::log(fit_factors(all)[0].factor.factor);
  for (MeasuredRatio& one : all) one.range90 = 30;  // nothing is known beforehand
  const double alone = std::log(fit_factors(all)[0].factor.factor);
  CHECK(std::abs(drawn) < .5 * std::abs(alone));
  all.pop_back();
  CHECK(fit_factors(all)[0].refused == "3 kernels are too few");
}

TEST_CASE("factors: what makes kernels worse that it did not see is refused") {
  // Right already, but for chance: what it gains must be more than 95 of 100 such would.
  size_t refused = 0;
  for (uint32_t seed = 0; seed < 40; ++seed)
    refused += fit_factors(kernels(12, 1, .2, seed))[0].refused.empty() ? 0 : 1;
  CHECK(refused >= 36);
  for (uint32_t seed = 0; seed < 40; ++seed)
    CHECK(fit_factors(kernels(12, 1.5, .1, seed))[0].refused.empty());
}

TEST_CASE("factors: classes, arithmetics and passes have their own") {
  auto all = kernels(30, 1.2, .02, 1);
  auto others = kernels(30, .8, .02, 2);
  for (MeasuredRatio& one : others) one.pass = "backward_data";
  all.insert(all.end(), others.begin(), others.end());
  const auto fits = fit_factors(all);
  REQUIRE(fits.size() == 2);
  CHECK(fits[0].factor.pass == "backward_data");
  CHECK(fits[0].factor.factor == doctest::Approx(.8).epsilon(.02));
  CHECK(fits[1].factor.factor == doctest::Approx(1.2).epsilon(.02));
}

}  // namespace
}  // namespace plimsoll::calibrate
