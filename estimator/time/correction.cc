#include "estimator/time/correction.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <utility>

namespace plimsoll {
namespace {

// A sum of few neighbours may overshoot between them: beyond a factor of 3.3 it is not believed.
constexpr double kLargest = 1.2;

// The points that may be near, where the correction's ascend.
std::pair<size_t, size_t> within_reach(const Correction& c, std::span<const double> features) {
  if (c.order.empty()) return {0, c.weights.size()};
  const size_t feature = c.order.front();
  const auto begin = c.columns.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(c.weights.size());
  const auto first = std::upper_bound(begin, end, features[feature] / c.reach[feature] - 1);
  const auto last = std::upper_bound(first, end, features[feature] / c.reach[feature] + 1);
  return {static_cast<size_t>(first - begin), static_cast<size_t>(last - begin)};
}

// 1 where two values agree, 0 beyond the reach.
double tent(double a, double b, double reach) {
  const double distance = std::fabs(a - b);
  return distance < reach ? 1 - distance / reach : 0;
}

// nearness() of the points from `i` on, but for the features that all share.
using Block = Eigen::Array<double, kCorrectionBlock, 1>;
Block nearness_of(const Correction& c, size_t i, std::span<const double> features) {
  Block near = Block::Ones();
  const double* column = c.columns.data() + i;
  for (const size_t f : c.order) {
    near *= (1 - (Eigen::Map<const Block>(column) - features[f] / c.reach[f]).abs()).max(0.0);
    column += c.column_length();
  }
  return near;
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
  for (size_t i = first; i < last; i += kCorrectionBlock) {
    const Block near = nearness_of(c, i, features);
    const size_t count = std::min(kCorrectionBlock, last - i);
    for (size_t p = 0; p < count; ++p) {
      const double each = near[static_cast<Eigen::Index>(p)];
      if (each == 0) continue;
      const double counted = shared * each * (c.device_of[i + p] == device ? 1 : c.kinship);
      result.log_factor += c.weights[i + p] * counted;
      result.support = std::max(result.support, counted);
    }
  }
  result.log_factor = std::clamp(result.log_factor, -kLargest, kLargest);
  return result;
}

}  // namespace plimsoll
