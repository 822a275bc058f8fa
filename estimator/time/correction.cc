#include "estimator/time/correction.h"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace plimsoll {
namespace {

// A sum of few neighbours may overshoot between them: beyond a factor of 3.3 it is not believed.
constexpr double kLargest = 1.2;

constexpr size_t kMostFeatures = 8;

// The points that may be near, where the correction's ascend; `at`: the first column's, in reaches.
std::pair<size_t, size_t> within_reach(const Correction& c, double at) {
  if (c.order.empty()) return {0, c.weights.size()};
  const auto begin = c.columns.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(c.weights.size());
  const auto first = std::upper_bound(begin, end, at - 1);
  const auto last = std::upper_bound(first, end, at + 1);
  return {static_cast<size_t>(first - begin), static_cast<size_t>(last - begin)};
}

// 1 where two values agree, 0 beyond the reach.
double tent(double a, double b, double reach) {
  const double distance = std::fabs(a - b);
  return distance < reach ? 1 - distance / reach : 0;
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
  const bool alike = features.size() == c.reach.size() && features.size() <= kMostFeatures;
  if (c.weights.empty() || !alike) return {};
  Corrected result;
  double shared = 1;
  for (const size_t f : c.shared) shared *= tent(features[f], c.points[f], c.reach[f]);
  if (shared == 0) return {};
  std::array<double, kMostFeatures> at{};  // in reaches, in the columns' order
  for (size_t k = 0; k < c.order.size(); ++k) at[k] = features[c.order[k]] / c.reach[c.order[k]];
  const auto [first, last] = within_reach(c, at.front());
  using Block = Eigen::Array<double, kCorrectionBlock, 1>;
  Block sum = Block::Zero(), support = Block::Zero();
  for (size_t i = first; i < last; i += kCorrectionBlock) {
    const double* next = c.columns.data() + i;
    const auto column = [&] {
      const Eigen::Map<const Block> block(next);
      next += c.column_length();
      return block;
    };
    Block near = Block::Constant(shared);
    for (size_t k = 0; k < c.order.size(); ++k) near *= (1 - (column() - at[k]).abs()).max(0.0);
    const auto weights = column();
    near *= (column() == device).select(Block::Ones(), c.kinship);
    sum += weights * near;
    support = support.max(near);
  }
  result.log_factor = sum.sum();
  result.support = support.maxCoeff();
  result.log_factor = std::clamp(result.log_factor, -kLargest, kLargest);
  return result;
}

}  // namespace plimsoll
