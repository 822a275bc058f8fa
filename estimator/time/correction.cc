#include "estimator/time/correction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
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

// A block of points. The compilers make of it what vectors the machine has.
using Lanes [[gnu::vector_size(kCorrectionBlock * sizeof(double))]] = double;

struct Sums {
  Lanes weighted{}, support{};
};

// The points of a range, a block at a time; behind the last stand points of no weight. Built for
// wider vectors too, and the same on all: each lane is summed up by itself.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
[[gnu::target_clones("avx512f", "avx2", "default")]]
#endif
void add_points(const Correction& c, double shared, const std::array<double, kMostFeatures>& at,
                std::pair<size_t, size_t> range, double device, Sums& sums) {
  const Lanes zero{};
  Lanes block;
  for (size_t i = range.first; i < range.second; i += kCorrectionBlock) {
    const double* column = c.columns.data() + i;
    Lanes near = zero + shared;
    for (size_t k = 0; k < c.order.size(); ++k, column += c.column_length()) {
      std::memcpy(&block, column, sizeof block);
      const Lanes off = block - at[k];
      const Lanes left = 1 - (off < zero ? -off : off);
      near *= left > zero ? left : zero;
    }
    std::memcpy(&block, column + c.column_length(), sizeof block);
    near *= block == zero + device ? zero + 1 : zero + c.kinship;
    std::memcpy(&block, column, sizeof block);
    sums.weighted += block * near;
    sums.support = near > sums.support ? near : sums.support;
  }
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
  Sums sums;
  add_points(c, shared, at, {first, last}, device, sums);
  for (size_t lane = 0; lane < kCorrectionBlock; ++lane) {
    result.log_factor += sums.weighted[lane];
    result.support = std::max(result.support, sums.support[lane]);
  }
  result.log_factor = std::clamp(result.log_factor, -kLargest, kLargest);
  return result;
}

}  // namespace plimsoll
