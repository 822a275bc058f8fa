#include "estimator/time/correction.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <numeric>

namespace plimsoll {
namespace {

// A sum of few neighbours may overshoot between them: beyond a factor of 3.3 it is not believed.
constexpr double kLargest = 1.2;

// Points in a knot: those beside it have as many rows. A place with more has several knots.
constexpr ptrdiff_t kMostInKnot = 64;

// 1 where two places agree, 0 from a reach on.
template <class Number>
PLIMSOLL_WITHIN Number tent(const Number& off) {
  return 1 - smaller(absolute(off), Number(1));
}

}  // namespace

double nearness(std::span<const double> a, std::span<const double> b,
                std::span<const double> reach) {
  double product = 1;
  for (size_t f = 0; f < reach.size() && product > 0; ++f)
    product *= tent((a[f] - b[f]) / reach[f]);
  return product;
}

CorrectionTable::CorrectionTable(const Correction& c, size_t swept)
    : swept_(swept), kinship_(c.kinship) {
  per_reach_.fill(1);
  const size_t width = c.reach.size(), count = c.weights.size();
  if (width > kMaxFeatures || count == 0) return;
  for (size_t f = 0; f < width; ++f) per_reach_[f] = 1 / c.reach[f];
  const double* const points = c.points.data();
  const auto at = [&](size_t point, size_t f) { return points[point * width + f] * per_reach_[f]; };
  for (size_t f = 0; f < width; ++f) {
    if (f == swept) continue;
    size_t point = 1;
    while (point < count && points[point * width + f] == points[f]) ++point;
    if (point == count) {
      shared_.emplace_back(f, at(0, f));
    } else {
      still_.push_back(f);
    }
  }

  using Spot = std::pair<float, uint32_t>;  // in the swept feature; which point
  std::vector<Spot> spots;
  spots.reserve(count);
  for (uint32_t i = 0; i < count; ++i) spots.emplace_back(static_cast<float>(at(i, swept)), i);
  std::ranges::sort(spots);
  std::vector<std::span<const Spot>> knots;
  for (auto begin = spots.cbegin(); begin != spots.cend();) {
    const auto most = begin + std::min(kMostInKnot, spots.cend() - begin);
    const auto end =
        std::find_if(begin + 1, most, [&](const Spot& s) { return s.first != begin->first; });
    knots.emplace_back(begin, end);
    begin = end;
  }
  std::ranges::stable_sort(knots, std::greater<>(), [](const auto& knot) { return knot.size(); });

  const size_t columns = still_.size() + 3;
  size_t rows = 0;
  for (size_t first = 0; first < knots.size(); first += Wide::kCount) {
    piles_.push_back({.knots = 0, .first = rows, .rows = knots[first].size()});
    rows += knots[first].size();
  }
  rows_.resize(rows * columns, 0);
  for (size_t k = 0; k < knots.size(); ++k) {
    Pile& pile = piles_[k / Wide::kCount];
    const size_t lane = k % Wide::kCount;
    pile.knots.set(lane, knots[k].front().first);
    Wide* row = rows_.data() + pile.first * columns;
    for (const auto& [spot, point] : knots[k]) {
      const auto put = [&](double value) { (row++)->set(lane, static_cast<float>(value)); };
      for (const size_t f : still_) put(at(point, f));
      put(c.device_of[point]);
      put(1);
      put(c.weights[point]);
    }
  }
}

PLIMSOLL_WIDE void CorrectionTable::find_near(const Features& features, int device,
                                              std::vector<Near>& near) const {
  near.clear();
  const auto place = [&](size_t f) { return features[f] * per_reach_[f]; };
  double all = 1;
  for (const auto& [f, shared] : shared_) all *= tent(place(f) - shared);
  if (all == 0) return;
  const size_t features_count = still_.size();
  std::array<Wide, kMaxFeatures> at;
  for (size_t k = 0; k < features_count; ++k) at[k] = static_cast<float>(place(still_[k]));
  const auto everywhere = static_cast<float>(all), kinship = static_cast<float>(kinship_);
  const Wide* row = rows_.data();
  for (const Pile& pile : piles_) {
    Wide weighted = 0, support = 0;
    for (size_t i = 0; i < pile.rows; ++i, row += features_count + 3) {
      const Wide &card = row[features_count], &there = row[features_count + 1];
      Wide product = there * select(card == static_cast<float>(device), Wide(everywhere),
                                    Wide(everywhere * kinship));
      for (size_t k = 0; k < features_count; ++k) product *= tent(row[k] - at[k]);
      weighted += row[features_count + 2] * product;
      support = larger(support, product);
    }
    if (any(support > 0)) near.push_back({pile.knots, weighted, support});
  }
}

namespace {

struct Sums {
  LanesOf<float> weighted = 0, support = 0;
};

PLIMSOLL_WITHIN Corrected total(const Sums& sums) {
  return {std::clamp<double>(sum(sums.weighted), -kLargest, kLargest), highest(sums.support)};
}

}  // namespace

// Two at a time, which do not wait for each other's sums.
PLIMSOLL_WIDE void CorrectionTable::sum_up(std::span<const Features> at,
                                           std::span<const uint32_t> which,
                                           const std::vector<Near>& near,
                                           std::span<Corrected> found) const {
  constexpr size_t kTogether = 2;
  for (size_t begin = 0; begin < which.size(); begin += kTogether) {
    const auto place = [&](size_t i) {
      const Features& features = at[which[std::min(begin + i, which.size() - 1)]];
      return static_cast<float>(features[swept_] * per_reach_[swept_]);
    };
    const float x[] = {place(0), place(1)};
    Sums a, b;
    for (const Near& n : near) {
      const auto add = [&](Sums& sums, size_t i) {
        const Wide part = tent(n.knots - x[i]);
        sums.weighted += n.weighted * part;
        sums.support = larger(sums.support, n.support * part);
      };
      add(a, 0);
      add(b, 1);
    }
    const Sums* all[] = {&a, &b};
    for (size_t i = 0; i < std::min(kTogether, which.size() - begin); ++i)
      found[which[begin + i]] = total(*all[i]);
  }
}

void CorrectionTable::look_up(std::span<const Features> at, int device,
                              std::span<Corrected> found) const {
  std::ranges::fill(found.first(at.size()), Corrected{});
  if (piles_.empty()) return;
  // Without a branch for each feature.
  const auto together = [&](const Features& a, const Features& b) {
    uint64_t differ = 0;
    const auto compare = [&](size_t f) {
      differ |= std::bit_cast<uint64_t>(a[f]) ^ std::bit_cast<uint64_t>(b[f]);
    };
    for (const size_t f : still_) compare(f);
    for (const auto& [f, place] : shared_) compare(f);
    return differ == 0;
  };
  std::vector<Near> near;
  near.reserve(piles_.size());
  std::vector<uint32_t> which(at.size());
  std::iota(which.begin(), which.end(), 0);
  for (auto begin = which.begin(); begin != which.end();) {
    const Features& first = at[*begin];
    const auto end =
        std::partition(begin + 1, which.end(), [&](uint32_t i) { return together(first, at[i]); });
    find_near(first, device, near);
    sum_up(at, {begin, end}, near, found);
    begin = end;
  }
}

}  // namespace plimsoll
