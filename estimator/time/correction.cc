#include "estimator/time/correction.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>

namespace plimsoll {
namespace {

// A sum of few neighbours may overshoot between them: beyond a factor of 3.3 it is not believed.
constexpr double kLargest = 1.2;

// Points in a knot: those beside it have as many rows. A place with more has several knots.
constexpr uint32_t kMostInKnot = 64;

// As high as it reaches where two places agree, 0 from a reach on.
template <class Number>
PLIMSOLL_WITHIN Number tent(const Number& off, const Number& reach) {
  return reach - smaller(absolute(off), reach);
}

// Two numbers to sort by as one: a thousand pairs take twice as long.
uint64_t packed(uint32_t above, uint32_t below) { return uint64_t{above} << 32 | below; }
uint32_t above(uint64_t pair) { return static_cast<uint32_t>(pair >> 32); }
uint32_t below(uint64_t pair) { return static_cast<uint32_t>(pair); }

}  // namespace

double nearness(std::span<const double> a, std::span<const double> b,
                std::span<const double> reach) {
  double product = 1;
  for (size_t f = 0; f < reach.size() && product > 0; ++f)
    product *= tent(a[f] - b[f], reach[f]) / reach[f];
  return product;
}

CorrectionTable::CorrectionTable(const Correction& c, size_t swept)
    : swept_(swept), kinship_(c.kinship) {
  reach_.fill(1);
  const size_t width = c.reach.size(), count = c.weights.size();
  if (width > kMaxFeatures || count == 0) return;
  std::ranges::copy(c.reach, reach_.begin());
  const double* const points = c.points.data();
  const auto at = [&](size_t point, size_t f) { return points[point * width + f]; };
  for (size_t f = 0; f < width; ++f) {
    scale_ /= reach_[f];
    if (f == swept) continue;
    size_t point = 1;
    while (point < count && at(point, f) == at(0, f)) ++point;
    if (point == count) {
      shared_.emplace_back(f, at(0, f));
    } else {
      still_.push_back(f);
    }
  }

  // Places, of which only the same must come together; below each, which point.
  std::vector<uint64_t> spots(count);
  for (uint32_t i = 0; i < count; ++i)
    spots[i] = packed(std::bit_cast<uint32_t>(static_cast<float>(at(i, swept))), i);
  std::ranges::sort(spots);
  // How many points; below, the first one's spot.
  std::vector<uint64_t> knots;
  for (uint32_t begin = 0, end = 0; begin < spots.size(); begin = end) {
    const size_t most = std::min<size_t>(spots.size(), begin + kMostInKnot);
    while (++end < most && above(spots[end]) == above(spots[begin])) {
    }
    knots.push_back(packed(end - begin, begin));
  }
  std::ranges::sort(knots, std::greater<>());

  const size_t columns = still_.size() + 3;
  size_t rows = 0;
  for (size_t first = 0; first < knots.size(); first += Wide::kCount) {
    piles_.push_back({.knots = 0, .first = rows, .rows = above(knots[first])});
    rows += above(knots[first]);
  }
  rows_.resize(rows * columns, 0);
  for (size_t k = 0; k < knots.size(); ++k) {
    Pile& pile = piles_[k / Wide::kCount];
    const size_t lane = k % Wide::kCount;
    const auto its_spots = std::span(spots).subspan(below(knots[k]), above(knots[k]));
    pile.knots.set(lane, static_cast<float>(at(below(its_spots.front()), swept)));
    Wide* row = rows_.data() + pile.first * columns;
    for (const uint64_t spot : its_spots) {
      const uint32_t point = below(spot);
      const auto put = [&](double value) { (row++)->set(lane, static_cast<float>(value)); };
      for (const size_t f : still_) put(at(point, f));
      put(c.device_of[point]);
      put(1);
      put(c.weights[point]);
    }
  }
}

PLIMSOLL_WIDE auto CorrectionTable::find_near(const Features& features, int device,
                                              std::span<Near> space) const
    -> std::span<const Near> {
  double all = scale_;
  for (const auto& [f, shared] : shared_) all *= tent(features[f] - shared, reach_[f]);
  if (all == 0) return {};
  const size_t features_count = still_.size();
  std::array<Wide, kMaxFeatures> at, reach;
  for (size_t k = 0; k < features_count; ++k) {
    at[k] = static_cast<float>(features[still_[k]]);
    reach[k] = static_cast<float>(reach_[still_[k]]);
  }
  const auto everywhere = static_cast<float>(all), kinship = static_cast<float>(kinship_);
  const Wide* row = rows_.data();
  size_t count = 0;
  for (const Pile& pile : piles_) {
    Wide weighted = 0, support = 0;
    for (size_t i = 0; i < pile.rows; ++i, row += features_count + 3) {
      const Wide &card = row[features_count], &there = row[features_count + 1];
      Wide product = there * select(card == static_cast<float>(device), Wide(everywhere),
                                    Wide(everywhere * kinship));
      for (size_t k = 0; k < features_count; ++k) product *= tent(row[k] - at[k], reach[k]);
      weighted += row[features_count + 2] * product;
      support = larger(support, product);
    }
    if (any(support > 0)) space[count++] = {pile.knots, weighted, support};
  }
  return space.first(count);
}

namespace {

struct Sums {
  LanesOf<float> weighted = 0, support = 0;
};

PLIMSOLL_WITHIN Corrected total(const Sums& sums) {
  return {std::clamp<double>(sum(sums.weighted), -kLargest, kLargest),
          std::min<double>(highest(sums.support), 1)};
}

}  // namespace

// Two at a time, which do not wait for each other's sums.
PLIMSOLL_WIDE void CorrectionTable::sum_up(std::span<const Near> near,
                                           std::span<const double> places,
                                           std::span<Corrected> found) const {
  const Wide reach = static_cast<float>(reach_[swept_]);
  for (size_t i = 0; i < places.size(); i += 2) {
    const size_t last = std::min(i + 1, places.size() - 1);
    const float x[] = {static_cast<float>(places[i]), static_cast<float>(places[last])};
    Sums a, b;
    for (const Near& n : near) {
      const auto add = [&](Sums& sums, float at) {
        const Wide part = tent(n.knots - at, reach);
        sums.weighted += n.weighted * part;
        sums.support = larger(sums.support, n.support * part);
      };
      add(a, x[0]);
      add(b, x[1]);
    }
    found[i] = total(a);
    found[last] = total(b);
  }
}

void CorrectionTable::look_up(const Features& features, std::span<const double> places, int device,
                              std::span<Corrected> found) const {
  const auto space = std::make_unique_for_overwrite<Near[]>(piles_.size());
  const std::span<const Near> near = find_near(features, device, {space.get(), piles_.size()});
  if (near.empty()) {
    std::ranges::fill(found.first(places.size()), Corrected{});
  } else {
    sum_up(near, places, found);
  }
}

void CorrectionTable::look_up(std::span<const Features> at, int device,
                              std::span<Corrected> found) const {
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
  std::vector<uint32_t> which(at.size());
  std::iota(which.begin(), which.end(), 0);
  std::vector<double> places(at.size());
  std::vector<Corrected> of_them(at.size());
  for (auto begin = which.begin(); begin != which.end();) {
    const Features& first = at[*begin];
    const auto end =
        std::partition(begin + 1, which.end(), [&](uint32_t i) { return together(first, at[i]); });
    const auto count = static_cast<size_t>(end - begin);
    for (size_t i = 0; i < count; ++i) places[i] = at[begin[i]][swept_];
    look_up(first, std::span(places).first(count), device, of_them);
    for (size_t i = 0; i < count; ++i) found[begin[i]] = of_them[i];
    begin = end;
  }
}

}  // namespace plimsoll
