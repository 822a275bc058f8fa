#include "estimator/time/gemm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hwdb/calibration_terms.h"

namespace plimsoll {
namespace {

constexpr int kSplits[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
constexpr int kUsualSplits = 32;
constexpr double kShortestSlice = 64;  // of k: below it no library splits further
constexpr double kWideLoad = 16;       // bytes

bool divides(double divisor, double value) { return std::fmod(value, divisor) == 0; }

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
    tile.fast = row.fast;
    tile.slow = row.slow;
    tile.resident = row.resident;
    tile.seconds_per_step = 2.0 * row.fast * row.slow / (flops_per_sm * terms[kTile0 + t]);
    tile.partial.fill(0);
    for (int c = 1; c <= row.resident; ++c) {
      tile.partial[c] = c / std::pow(static_cast<double>(c) / row.resident, terms[kResidency]);
    }
  }
}

double GemmModel::rounds(const Tile& tile, double blocks) const {
  const double per_round = sms_ * tile.resident;
  const double full = std::floor(blocks / per_round);
  const int rest = static_cast<int>(std::ceil((blocks - full * per_round) / sms_));
  return full * tile.resident + tile.partial[rest];
}

double GemmModel::misaligned(const GemmShape& s) const {
  if (!s.in_memory) return 1;
  const double rows[] = {s.a_t ? s.m : s.k, s.b_t ? s.k : s.n, s.n};
  const auto all_begin_at = [&](double bytes) {
    return std::all_of(std::begin(rows), std::end(rows),
                       [&](double row) { return divides(bytes, row * s.element_bytes); });
  };
  if (all_begin_at(kWideLoad)) return 1;
  return all_begin_at(2 * s.element_bytes) ? align_ : align_odd_;
}

GemmCost GemmModel::cost(const GemmShape& s) const {
  const double operands = s.batch * (s.m * s.k + s.k * s.n) * s.element_bytes;
  const double result = s.batch * s.m * s.n;
  const double plain =
      s.bytes > 0 ? s.bytes : operands + result * s.element_bytes * (s.accumulate ? 2 : 1);
  const double slower = layout_[2 * s.a_t + s.b_t] * s.slower * misaligned(s);
  const int most = s.may_split ? most_splits_ : 1;
  GemmCost best;
  best.seconds = std::numeric_limits<double>::infinity();
  for (int t = 0; t < kGemmTileCount; ++t) {
    if ((s.tiles >> t & 1u) == 0) continue;
    const Tile& tile = tiles_[t];
    const double tiles = std::ceil(s.n / tile.fast) * std::ceil(s.m / tile.slow) * s.batch;
    for (const int split : kSplits) {
      if (split > 1) {
        // More slices than fill the card once only add traffic.
        if (split > most || s.k < split * kShortestSlice ||
            tiles * split > 2 * sms_ * tile.resident)
          break;
      }
      const double steps = std::ceil(s.k / split) + prologue_ * s.prologue;
      const double compute = rounds(tile, tiles * split) * tile.seconds_per_step * steps * slower;
      // Slices meet through f32 partial sums, written and read once.
      const double bytes = plain + (split > 1 ? 8.0 * result * split : 0.0);
      const double seconds = std::max(compute, bytes / bandwidth_);
      if (seconds < best.seconds) {
        best = {seconds, compute, bytes / bandwidth_, 0, bytes, t, split};
      }
    }
  }
  best.seconds += fixed_;
  best.flop = 2 * s.batch * s.m * s.n * s.k;
  return best;
}

}  // namespace plimsoll
