#include "estimator/time/gemm.h"

#include <algorithm>
#include <cmath>

#include "hwdb/calibration_terms.h"

namespace plimsoll {
namespace {

constexpr int kSplits[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
constexpr int kUsualSplits = 32;
constexpr double kShortestSlice = 64;  // of k: below it no library splits further
constexpr double kWideLoad = 16;       // bytes

constexpr double kNever = kNoLimit;

// The search looks at what can be shorter: this share of the least that a tile takes stays below
// what the same figures, rounded otherwise, come to.
constexpr double kRounding = 1 - 1e-9;

template <class Number>
PLIMSOLL_WITHIN Number fraction(const Number& x) {
  return x - rounded_down(x);
}

}  // namespace

GemmModel::GemmModel(std::span<const double> terms, const GemmRates& rates)
    : layout_{1, std::exp(terms[kTransposeB]), std::exp(terms[kTransposeA]),
              std::exp(terms[kTransposeBoth])},
      align_(std::exp(terms[kAlign])),
      align_odd_(std::exp(terms[kAlignOdd])),
      sms_(rates.sms),
      bandwidth_(rates.bandwidth * terms[kBandwidth]),
      prologue_(terms[kPrologue]),
      fixed_(terms[kFixed] * 1e-6),
      most_splits_(terms[kSplit] > 1.5   ? kSplits[std::size(kSplits) - 1]
                   : terms[kSplit] > 0.5 ? kUsualSplits
                                         : 1) {
  const double flops_per_sm = rates.flops / rates.sms;
  for (int t = 0; t < kGemmTileCount; ++t) {
    const GemmTile& row = kGemmTiles[t];
    Tile& tile = tiles_[t];
    tile.per_fast = 1.0 / row.fast;
    tile.per_slow = 1.0 / row.slow;
    tile.resident = row.resident;
    tile.seconds_per_step = 2.0 * row.fast * row.slow / (flops_per_sm * terms[kTile0 + t]);
    tile.seconds_per_work =
        tile.seconds_per_step / sms_ * tile.per_fast * tile.per_slow * kRounding;
    tile.partial.fill(0);
    for (int c = 1; c <= row.resident; ++c) {
      tile.partial[c] = c / std::pow(static_cast<double>(c) / row.resident, terms[kResidency]);
    }
  }
}

template <class Number>
PLIMSOLL_WITHIN Number GemmModel::rounds(const Tile& tile, const Number& blocks) const {
  const double per_round = sms_ * tile.resident;
  const Number full = rounded_down<Number>(blocks / per_round);
  const Number rest = rounded_up<Number>((blocks - full * per_round) / sms_);
  Number last = 0;
  for (int c = 1; c <= static_cast<int>(tile.resident); ++c)
    last = select(rest == c, Number(tile.partial[c]), last);
  return full * tile.resident + last;
}

template <class Number>
PLIMSOLL_WITHIN Number GemmModel::misaligned(const GemmShapeOf<Number>& s) const {
  if (!s.in_memory) return 1;
  const Number &a = s.a_t ? s.m : s.k, &b = s.b_t ? s.k : s.n;
  // 0 where the rows of all three begin at multiples of so many bytes.
  const auto off = [&](double bytes) {
    const double units = s.element_bytes / bytes;  // in an element
    return fraction<Number>(a * units) + fraction<Number>(b * units) +
           fraction<Number>(s.n * units);
  };
  const Number narrow = select(off(2 * s.element_bytes) > 0, Number(align_odd_), Number(align_));
  return select(off(kWideLoad) > 0, narrow, Number(1));
}

template <class Number>
PLIMSOLL_WITHIN GemmCostOf<Number> GemmModel::search(const GemmShapeOf<Number>& s,
                                                     const Number& limit) const {
  const Number operands = s.batch * (s.m * s.k + s.k * s.n) * s.element_bytes;
  const Number result = s.batch * s.m * s.n;
  const Number three = operands + result * s.element_bytes * (s.accumulate ? 2.0 : 1.0);
  const Number plain = select(s.bytes > 0, s.bytes, three);
  const Number at_once = plain / bandwidth_;
  const Number slower = misaligned(s) * (layout_[2 * s.a_t + s.b_t] * s.slower);
  const double prologue = prologue_ * s.prologue;
  const int most = s.may_split ? most_splits_ : 1;
  const Number depth = s.k + prologue;
  const Number work = result * depth * slower;
  GemmCostOf<Number> best;
  best.seconds = limit - fixed_;
  // That a unit of work may take to be worth a look.
  const auto most_per_work = [&] {
    return highest(select(at_once < best.seconds, best.seconds / work, Number(0)));
  };
  double longest = most_per_work();
  for (int t = 0; t < kGemmTileCount; ++t) {
    const Tile& tile = tiles_[t];
    if ((s.tiles >> t & 1u) == 0 || tile.seconds_per_work >= longest) continue;
    const Number tiles =
        rounded_up<Number>(s.n * tile.per_fast) * rounded_up<Number>(s.m * tile.per_slow) * s.batch;
    const double rate = tile.seconds_per_step / sms_ * kRounding;
    const Number least = larger(tiles * depth * slower * rate, at_once);
    for (const int split : kSplits) {
      if (split > most || !any(least < best.seconds)) break;
      // More slices than fill the card once only add traffic.
      const Number divided = select(tiles * split <= 2 * sms_ * tile.resident, s.k, Number(0));
      if (split > 1 && !any(divided >= split * kShortestSlice)) break;
      const Number steps = rounded_up<Number>(s.k * (1.0 / split)) + prologue;
      const Number compute =
          rounds<Number>(tile, tiles * split) * tile.seconds_per_step * steps * slower;
      // Slices meet through f32 partial sums, written and read once.
      const Number bytes = plain + result * (split > 1 ? 8.0 * split : 0.0);
      const Number memory = split > 1 ? bytes / bandwidth_ : at_once;
      Number seconds = larger(compute, memory);
      if (split > 1) seconds = select(divided >= split * kShortestSlice, seconds, Number(kNever));
      const auto take = [&](Number& field, const Number& value) {
        field = select(seconds < best.seconds, value, field);
      };
      take(best.compute_seconds, compute);
      take(best.memory_seconds, memory);
      take(best.bytes, bytes);
      take(best.tile, t);
      take(best.split, split);
      take(best.seconds, seconds);
    }
    longest = most_per_work();
  }
  best.seconds = select(best.seconds < limit - fixed_, best.seconds + fixed_, Number(kNever));
  best.flop = 2 * s.batch * s.m * s.n * s.k;
  return best;
}

GemmCost GemmModel::cost(const GemmShape& shape, double limit) const {
  return search(shape, limit);
}

PLIMSOLL_WIDE GemmCostOf<Lanes> GemmModel::cost(const GemmShapeOf<Lanes>& shapes,
                                                const Lanes& limit) const {
  return search(shapes, limit);
}

}  // namespace plimsoll
