#include "estimator/time/correction.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

// A sum of few neighbours may overshoot between them: beyond a factor of 3.3 it is not believed.
constexpr double kLargest = 1.2;

}  // namespace

double nearness(std::span<const double> a, std::span<const double> b,
                std::span<const double> reach) {
  double product = 1;
  for (size_t f = 0; f < reach.size(); ++f) {
    const double tent = 1 - std::fabs(a[f] - b[f]) / reach[f];
    if (tent <= 0) return 0;
    product *= tent;
  }
  return product;
}

Corrected correct(const Correction& c, std::span<const double> features, int device) {
  const size_t width = c.reach.size();
  if (width == 0 || features.size() != width) return {};
  Corrected result;
  for (size_t i = 0; i < c.weights.size(); ++i) {
    double near = nearness(features, std::span(c.points).subspan(i * width, width), c.reach);
    if (near == 0) continue;
    if (c.device_of[i] != device) near *= c.kinship;
    result.log_factor += c.weights[i] * near;
    result.support = std::max(result.support, near);
  }
  result.log_factor = std::clamp(result.log_factor, -kLargest, kLargest);
  return result;
}

}  // namespace plimsoll
