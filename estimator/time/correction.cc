#include "estimator/time/correction.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace plimsoll {
namespace {

// A sum of few neighbours may overshoot between them: beyond a factor of 3.3 it is not believed.
constexpr double kLargest = 1.2;

// The points that may be near, where the correction's ascend.
std::pair<size_t, size_t> within_reach(const Correction& c, std::span<const double> features) {
  const size_t count = c.weights.size();
  if (c.order.empty()) return {0, count};
  const size_t width = c.reach.size(), feature = c.order.front();
  const auto first_above = [&](double bound) {
    size_t low = 0, high = count;
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if (c.points[middle * width + feature] <= bound) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  return {first_above(features[feature] - c.reach[feature]),
          first_above(features[feature] + c.reach[feature])};
}

// 1 where two values agree, 0 beyond the reach.
double tent(double a, double b, double reach) {
  const double distance = std::fabs(a - b);
  return distance < reach ? 1 - distance / reach : 0;
}

// nearness() of point `i` by the features in which points differ, most telling first.
double nearness_of(const Correction& c, size_t i, std::span<const double> features) {
  const double* const point = c.points.data() + i * features.size();
  double product = 1;
  for (const size_t f : c.order) {
    product *= tent(features[f], point[f], c.reach[f]);
    if (product == 0) return 0;
  }
  return product;
}

}  // namespace

double nearness(std::span<const double> a, std::span<const double> b,
                std::span<const double> reach) {
  double product = 1;
  for (size_t f = 0; f < reach.size(); ++f) {
    product *= tent(a[f], b[f], reach[f]);
    if (product == 0) return 0;
  }
  return product;
}

Corrected correct(const Correction& c, std::span<const double> features, int device) {
  if (c.weights.empty() || features.size() != c.reach.size()) return {};
  Corrected result;
  double shared = 1;
  for (const size_t f : c.shared) shared *= tent(features[f], c.points[f], c.reach[f]);
  if (shared == 0) return {};
  const auto [first, last] = within_reach(c, features);
  for (size_t i = first; i < last; ++i) {
    double near = shared * nearness_of(c, i, features);
    if (near == 0) continue;
    if (c.device_of[i] != device) near *= c.kinship;
    result.log_factor += c.weights[i] * near;
    result.support = std::max(result.support, near);
  }
  result.log_factor = std::clamp(result.log_factor, -kLargest, kLargest);
  return result;
}

}  // namespace plimsoll
