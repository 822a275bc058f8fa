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

// As high as it reaches where two places agree, 0 from a reach on.
template <class Number>
PLIMSOLL_WITHIN Number tent(const Number& off, const Number& reach) {
  return reach - smaller(absolute(off), reach);
}

// In a number's order.
uint32_t ascending(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return bits ^ (bits >> 31 ? 0xffffffff : 0x80000000);
}

// Two numbers to sort by as one: a thousand pairs take twice as long.
uint64_t packed(uint32_t above, uint32_t below) { return uint64_t{above} << 32 | below; }
uint32_t above(uint64_t pair) { return static_cast<uint32_t>(pair >> 32); }
uint32_t below(uint64_t pair) { return static_cast<uint32_t>(pair); }

// Points at one place.
using Knot = std::span<const uint64_t>;

// Of sorted places. As high as places have points on average: those with more have several.
std::vector<Knot> knots_of(Knot spots) {
  const auto same = [](uint64_t a, uint64_t b) { return above(a) == above(b); };
  size_t places = 1;
  for (size_t i = 1; i < spots.size(); ++i) places += same(spots[i - 1], spots[i]) ? 0 : 1;
  const size_t highest = spots.size() / places;
  std::vector<Knot> knots;
  for (size_t begin = 0, end = 0; begin < spots.size(); begin = end) {
    const size_t last = std::min(spots.size(), begin + highest);
    while (++end < last && same(spots[begin], spots[end])) {
    }
    knots.push_back(spots.subspan(begin, end - begin));
  }
  return knots;
}

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

  // Places; below each, which point.
  std::vector<uint64_t> spots(count);
  for (uint32_t i = 0; i < count; ++i)
    spots[i] = packed(ascending(static_cast<float>(at(i, swept))), i);
  std::ranges::sort(spots);
  const std::vector<Knot> knots = knots_of(spots);

  const size_t columns = still_.size() + 3;
  const auto place = [&](Knot knot) { return static_cast<float>(at(below(knot.front()), swept)); };
  for (size_t first = 0; first < knots.size(); first += Wide::kCount) {
    const auto its = std::span(knots).subspan(first, std::min(Wide::kCount, knots.size() - first));
    Pile& pile = piles_.emplace_back();
    pile.low = place(its.front());
    pile.high = place(its.back());
    pile.middle = (pile.low + pile.high) / 2;
    pile.rows = std::ranges::max(its, {}, &Knot::size).size();
    pile.knots = pile.high;
    const size_t begin = rows_.size();
    rows_.resize(begin + pile.rows * columns, 0);
    for (size_t lane = 0; lane < its.size(); ++lane) {
      pile.knots.set(lane, place(its[lane]));
      Wide* row = rows_.data() + begin;
      for (const uint64_t spot : its[lane]) {
        const uint32_t point = below(spot);
        const auto put = [&](double value) { (row++)->set(lane, static_cast<float>(value)); };
        for (const size_t f : still_) put(at(point, f));
        put(c.device_of[point]);
        put(1);
        put(c.weights[point]);
      }
    }
  }
}

PLIMSOLL_WIDE bool CorrectionTable::find_near(const Features& features, int device,
                                              std::span<Near> near) const {
  double all = scale_;
  for (const auto& [f, shared] : shared_) all *= tent(features[f] - shared, reach_[f]);
  if (all == 0) return false;
  const size_t features_count = still_.size();
  std::array<Wide, kMaxFeatures> at, reach;
  for (size_t k = 0; k < features_count; ++k) {
    at[k] = static_cast<float>(features[still_[k]]);
    reach[k] = static_cast<float>(reach_[still_[k]]);
  }
  const auto everywhere = static_cast<float>(all), kinship = static_cast<float>(kinship_);
  const Wide* row = rows_.data();
  double all_weight = 0, all_moment = 0;
  float highest_yet = 0;
  for (size_t p = 0; p < piles_.size(); ++p) {
    const Pile& pile = piles_[p];
    Wide weighted = 0, support = 0;
    for (size_t i = 0; i < pile.rows; ++i, row += features_count + 3) {
      const Wide &card = row[features_count], &there = row[features_count + 1];
      Wide product = there * select(card == static_cast<float>(device), Wide(everywhere),
                                    Wide(everywhere * kinship));
      for (size_t k = 0; k < features_count; ++k) product *= tent(row[k] - at[k], reach[k]);
      weighted += row[features_count + 2] * product;
      support = larger(support, product);
    }
    Near& of = near[p];
    of.weighted = weighted;
    of.support = support;
    of.highest = highest(support);
    of.before = highest_yet = std::max(highest_yet, of.highest);
    of.weight = all_weight;
    of.moment = all_moment;
    const double its_weight = sum(weighted);
    all_weight += its_weight;
    // By place from the middle on: single precision is enough.
    all_moment += pile.middle * its_weight + sum(weighted * (pile.knots - pile.middle));
  }
  near[piles_.size()].weight = all_weight;
  near[piles_.size()].moment = all_moment;
  float highest_from = 0;
  for (size_t p = piles_.size(); p-- > 0;)
    near[p].after = highest_from = std::max(highest_from, near[p].highest);
  return highest_yet > 0;
}

namespace {

// Moves `at` to the first of `count` piles of which it is so, as it is of all behind.
template <class Is>
PLIMSOLL_WITHIN void move(size_t& at, size_t count, const Is& is) {
  while (at < count && !is(at)) ++at;
  while (at > 0 && is(at - 1)) --at;
}

}  // namespace

PLIMSOLL_WIDE void CorrectionTable::sum_up(std::span<const Near> near,
                                           std::span<const double> places,
                                           std::span<Corrected> found) const {
  const auto reach = static_cast<float>(reach_[swept_]);
  const size_t count = piles_.size();
  // Neighbours mostly lie in the same pile.
  size_t within = 0, beside = 0, after = 0, beyond = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    const auto x = static_cast<float>(places[i]);
    // To the left, and all within reach, are the piles [within, beside), to the right [after,
    // beyond). The place is in those between, and its reach ends in at most one beside them.
    move(within, count, [&](size_t p) { return piles_[p].low >= x - reach; });
    move(beside, count, [&](size_t p) { return piles_[p].high > x; });
    move(after, count, [&](size_t p) { return piles_[p].low > x; });
    move(beyond, count, [&](size_t p) { return piles_[p].high > x + reach; });
    double log_factor = 0;
    if (within < beside) {
      log_factor += (reach - double{x}) * (near[beside].weight - near[within].weight) +
                    (near[beside].moment - near[within].moment);
    }
    if (after < beyond) {
      log_factor += (reach + double{x}) * (near[beyond].weight - near[after].weight) -
                    (near[beyond].moment - near[after].moment);
    }
    const auto tents = [&](size_t p) { return tent(piles_[p].knots - x, Wide(reach)); };
    Wide weighted = 0, support = 0;
    const auto add = [&](size_t p) {
      const Wide part = tents(p);
      weighted += near[p].weighted * part;
      support = larger(support, near[p].support * part);
    };
    if (within > 0 && within <= beside) add(within - 1);
    for (size_t p = beside; p < after; ++p) add(p);
    if (beyond < count && beyond >= after) add(beyond);
    log_factor += sum(weighted);

    // Away from the place, while a pile there may have more.
    float most = highest(support);
    const auto look = [&](size_t p, float part) {
      if (near[p].highest * part > most) most = std::max(most, highest(near[p].support * tents(p)));
    };
    for (size_t p = beside; p-- > within;) {
      const float part = reach - (x - piles_[p].high);
      if (near[p].before * part <= most) break;
      look(p, part);
    }
    for (size_t p = after; p < beyond; ++p) {
      const float part = reach - (piles_[p].low - x);
      if (near[p].after * part <= most) break;
      look(p, part);
    }
    found[i] = {std::clamp(log_factor, -kLargest, kLargest), std::min<double>(most, 1)};
  }
}

void CorrectionTable::look_up(const Features& features, std::span<const double> places, int device,
                              std::span<Corrected> found) const {
  const auto space = std::make_unique_for_overwrite<Near[]>(piles_.size() + 1);
  const std::span<Near> near(space.get(), piles_.size() + 1);
  if (find_near(features, device, near)) {
    sum_up(near, places, found);
  } else {
    std::ranges::fill(found.first(places.size()), Corrected{});
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
