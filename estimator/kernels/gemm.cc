#include "estimator/kernels/gemm.h"

#include <algorithm>
#include <cmath>

#include "hwdb/calibration_terms.h"

namespace plimsoll {
namespace {

constexpr int kSplits[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
constexpr int kUsualSplits = 32;
constexpr double kShortestSlice = 64;  // of k: below it no library splits further
constexpr double kWideLoad = 16;       // bytes

// The search looks at what can be shorter: this share of the least that a tile takes stays below
// what the same figures, rounded otherwise, come to.
constexpr double kRounding = 1 - 1e-9;

}  // namespace

GemmModel::GemmModel(std::span<const double> terms, const GemmRates& rates)
    : layout_{1, std::exp(terms[kTransposeB]), std::exp(terms[kTransposeA]),
              std::exp(terms[kTransposeA] + terms[kTransposeB])},
      align_(std::exp(terms[kAlign])),
      align_odd_(std::exp(terms[kAlignOdd])),
      sms_(rates.sms),
      bandwidth_(rates.bandwidth * terms[kBandwidth]),
      prologue_(terms[kPrologue]),
      fixed_(terms[kFixed] * 1e-6),
      most_splits_(terms[kSplit] > 1.5   ? kSplits[std::size(kSplits) - 1]
                   : terms[kSplit] > 0.5 ? kUsualSplits
                                         : 1),
      few_columns_(terms[kFewColumns]) {
  const double flops_per_sm = rates.flops / rates.sms;
  for (int t = 0; t < kGemmTileCount; ++t) {
    const GemmTile& row = kGemmTiles[t];
    Tile& tile = tiles_[t];
    tile.per_fast = 1.0 / row.fast;
    tile.per_slow = 1.0 / row.slow;
    tile.resident = row.resident;
    tile.seconds_per_step = 2.0 * row.fast * row.slow / (flops_per_sm * terms[kTile0 + t]);
    tile.partial.fill(0);
    for (int c = 1; c <= row.resident; ++c) {
      tile.partial[c] = c / std::pow(static_cast<double>(c) / row.resident, terms[kResidency]);
    }
  }
}

double GemmModel::rounds(const Tile& tile, double blocks) const {
  const double full = std::floor(blocks / (sms_ * tile.resident));
  const double rest = std::ceil((blocks - full * sms_ * tile.resident) / sms_);
  return full * tile.resident + tile.partial[static_cast<size_t>(rest)];
}

bool GemmModel::is_too_narrow(const GemmTile& tile, const GemmShape& s) const {
  constexpr int kNarrowest = 64;
  return (s.n <= few_columns_ && tile.fast < kNarrowest) ||
         (s.m <= few_columns_ && tile.slow < kNarrowest);
}

double GemmModel::misaligned(const GemmShape& s) const {
  if (!s.in_memory) return 1;
  // Whether the rows of all three begin at multiples of so many bytes.
  const auto begin_at = [&](double bytes) {
    const double units = s.element_bytes / bytes;  // in an element
    const auto whole = [&](double row) { return row * units == std::floor(row * units); };
    return whole(s.a_t ? s.m : s.k) && whole(s.b_t ? s.k : s.n) && whole(s.n);
  };
  if (begin_at(kWideLoad)) return 1;
  return begin_at(2 * s.element_bytes) ? align_ : align_odd_;
}

GemmCost GemmModel::cost(const GemmShape& s, double limit) const {
  const double operands = s.batch * (s.m * s.k + s.k * s.n) * s.element_bytes;
  const double result = s.batch * s.m * s.n;
  const double three = operands + result * s.element_bytes * (s.accumulate ? 2 : 1);
  const double plain = s.bytes > 0 ? s.bytes : three;
  const double at_once = plain / bandwidth_;
  const double slower = misaligned(s) * layout_[2 * s.a_t + s.b_t] * s.slower;
  const double prologue = prologue_ * s.prologue + s.more_steps;
  const double depth = s.k + prologue;
  const int most = s.may_split ? most_splits_ : 1;
  GemmCost best{.seconds = limit - fixed_, .flop = 2 * result * s.k};
  bool found = false;
  for (int t = 0; t < kGemmTileCount; ++t) {
    const Tile& tile = tiles_[t];
    if ((s.tiles >> t & 1u) == 0) continue;
    if (s.in_memory && is_too_narrow(kGemmTiles[t], s)) continue;
    const double tiles = std::ceil(s.n * tile.per_fast) * std::ceil(s.m * tile.per_slow) * s.batch;
    const double rate = tile.seconds_per_step / sms_ * kRounding;
    const double least = std::max(tiles * depth * slower * rate, at_once);
    for (const int split : kSplits) {
      if (split > most || least >= best.seconds) break;
      // More slices than fill the card once only add traffic.
      const bool divides =
          tiles * split <= 2 * sms_ * tile.resident && s.k >= split * kShortestSlice;
      if (split > 1 && !divides) break;
      const double steps = std::ceil(s.k / split) + prologue;
      const double compute = rounds(tile, tiles * split) * tile.seconds_per_step * steps * slower;
      // Slices meet through f32 partial sums, written and read once.
      const double bytes = plain + (split > 1 ? 8.0 * split * result : 0);
      const double memory = bytes / bandwidth_;
      if (std::max(compute, memory) >= best.seconds) continue;
      found = true;
      best.seconds = std::max(compute, memory);
      best.compute_seconds = compute;
      best.memory_seconds = memory;
      best.bytes = bytes;
      best.tile = t;
      best.split = split;
    }
  }
  best.seconds = found ? best.seconds + fixed_ : kNoLimit;
  return best;
}

}  // namespace plimsoll
