#include "estimator/kernels/conv_algorithms.h"

#include <doctest/doctest.h>

#include <vector>

#include "hwdb/calibration_terms.h"

namespace plimsoll {
namespace {

constexpr GemmRates kRates{.flops = 1e13, .sms = 28, .bandwidth = 4e11};

std::vector<double> initial_terms() {
  std::vector<double> terms;
  for (const CoefficientRow& row : kGemmTerms) terms.push_back(row.initial);
  for (const CoefficientRow& row : kConvTerms) terms.push_back(row.initial);
  terms[kFixed] = 0;
  return terms;
}

// The gradient of 512 x 512 weights of 1x1, of eight images.
double weights_seconds(const std::vector<double>& terms, double side) {
  ConvShape s;
  s.n = 8;
  s.c = s.k = 512;
  s.in = s.out = {1, side, side};
  s.pass = Pass::kBackwardWeights;
  return ConvModel(terms, kRates, 600).product(s).seconds;
}

TEST_CASE("gradients of weights that add their tiles take whole slabs of each image") {
  std::vector<double> terms = initial_terms();
  CHECK(weights_seconds(terms, 7) < weights_seconds(terms, 8));
  terms[kWgrad] = 0;
  CHECK(weights_seconds(terms, 7) == weights_seconds(terms, 8));
  CHECK(weights_seconds(terms, 8) < weights_seconds(terms, 9));
}

TEST_CASE("... multiply as gradients of data do, and pay for the tile beside") {
  std::vector<double> terms = initial_terms();
  terms[kWgrad] = terms[kDgrad];
  terms[kWgradSteps] = 300;
  const double own = weights_seconds(terms, 16);
  terms[kWgrad] = 0;
  const double added = weights_seconds(terms, 16);
  terms[kWgradSteps] = 0;
  CHECK(weights_seconds(terms, 16) == doctest::Approx(own));
  CHECK(added > own);
  // As many more steps of k.
  terms[kPrologue] += 300;
  CHECK(weights_seconds(terms, 16) == doctest::Approx(added));
}

}  // namespace
}  // namespace plimsoll
