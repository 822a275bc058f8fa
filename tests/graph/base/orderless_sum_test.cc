#include "graph/base/orderless_sum.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

using namespace plimsoll;

namespace {

double sum_of(const std::vector<double>& values) {
  OrderlessSum sum;
  for (const double value : values) sum += value;
  return sum.value();
}

}  // namespace

TEST_CASE("orderless sum: the same in every order, and as close as doubles are") {
  std::mt19937_64 chance(1);
  std::uniform_real_distribution<double> exponent(-30, 5);
  std::vector<double> values(300);
  for (double& value : values) value = std::exp(exponent(chance));
  const double first = sum_of(values);
  double plain = 0;
  for (const double value : values) plain += value;
  CHECK(first == doctest::Approx(plain).epsilon(1e-14));
  bool plain_differs = false;
  for (int round = 0; round < 50; ++round) {
    std::shuffle(values.begin(), values.end(), chance);
    CHECK(sum_of(values) == first);
    double again = 0;
    for (const double value : values) again += value;
    plain_differs = plain_differs || again != plain;
  }
  CHECK(plain_differs);
  CHECK(sum_of({}) == 0);
  CHECK(sum_of({0.5, -0.5, 3}) == 3);
}

TEST_CASE("orderless sum: what no step takes stays what it is") {
  const double infinite = std::numeric_limits<double>::infinity();
  CHECK(sum_of({1, infinite, 2}) == infinite);
  CHECK(sum_of({1e12, 1}) == 1e12 + 1);
  CHECK(std::isnan(sum_of({1, std::nan("")})));
}
