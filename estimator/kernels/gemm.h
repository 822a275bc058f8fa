// Matrix multiplication as libraries run it: tiles, waves, split k. The one brick; convolutions and
// recurrent layers reuse it.
//
//   blocks = ceil(n / fast) * ceil(m / slow) * batch * split
//   one    = 2 * fast * slow * (ceil(k / split) + prologue) / (rate of one SM * tile efficiency)
//   time   = fixed + min over tiles, splits of max(rounds of blocks * one, bytes / bandwidth)
//
// Tensor cores read rows that begin at multiples of 16 bytes in one go; the libraries have slower
// kernels for 4 and 8 bytes and for single elements, whichever of the three matrices needs them.
//
// A round fills every SM with as many blocks as fit; the last, partial round hides latency worse,
// by the residency exponent.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>

namespace plimsoll {

// C[m,n] = A[m,k] B[k,n], row-major: n is the fast axis.
struct GemmShape {
  double m = 1, n = 1, k = 1, batch = 1;
  bool a_t = false, b_t = false, accumulate = false;
  double element_bytes = 4;
  // Rows of the three matrices are these sizes of a matrix in memory; a convolution's are padded.
  bool in_memory = false;
  double bytes = 0;  // traffic where it is not that of three matrices, as in a convolution
  bool may_split = true;
  double slower = 1;      // factor on the compute time
  double prologue = 1;    // factor on the prologue
  double more_steps = 0;  // of k, that a block takes beside
  uint32_t tiles = ~0u;   // bit t: tile t may be chosen
};

// What one card gives to this class of kernel.
struct GemmRates {
  double flops = 1;  // flop/s of the whole card, at the clock it sustains
  double sms = 1;
  double bandwidth = 1;  // B/s, nominal
  double clock = 0;      // Hz, sustained; 0: not known
};

struct GemmCost {
  double seconds = 0;
  double compute_seconds = 0, memory_seconds = 0;
  double flop = 0, bytes = 0;
  int tile = 0;  // index into kGemmTiles
  int split = 1;
};

struct GemmTile {
  int fast, slow, resident;  // resident: blocks of this tile that one SM holds
};
inline constexpr int kGemmTileCount = 9;
// Residency follows from 256 KiB of registers and 48-96 KiB of shared memory per SM.
inline constexpr std::array<GemmTile, kGemmTileCount> kGemmTiles = {{
    {128, 128, 2},
    {128, 64, 4},
    {64, 128, 4},
    {64, 64, 6},
    {128, 32, 4},
    {32, 128, 4},
    {32, 32, 8},
    {64, 16, 8},
    {16, 64, 8},
}};
inline constexpr int kMaxResident = 8;
constexpr uint32_t tile_bit(int fast, int slow) {
  for (int t = 0; t < kGemmTileCount; ++t) {
    if (kGemmTiles[t].fast == fast && kGemmTiles[t].slow == slow) return 1u << t;
  }
  return 0;
}

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Prepared once per card and calibration, then 0.1-0.5 microseconds for one shape.
class GemmModel {
 public:
  // `terms`: kGemmTerms values.
  GemmModel(std::span<const double> terms, const GemmRates& rates);
  // `limit`: seconds; what takes as long or longer takes forever, and is not looked at closer.
  GemmCost cost(const GemmShape& shape, double limit = kNoLimit) const;

 private:
  struct Tile {
    double per_fast, per_slow;  // 1 / fast, 1 / slow: powers of two, so exact
    double resident;
    double seconds_per_step;  // of one block, alone, per unit of k
    std::array<double, kMaxResident + 1>
        partial;  // a last round of c blocks, in units of one block
  };
  double rounds(const Tile& tile, double blocks) const;
  double misaligned(const GemmShape& shape) const;
  bool is_too_narrow(const GemmTile& tile, const GemmShape& shape) const;
  std::array<Tile, kGemmTileCount> tiles_;
  std::array<double, 4> layout_;  // slowdown by 2 * a_t + b_t
  double align_, align_odd_;
  double sms_, bandwidth_, prologue_, fixed_;
  int most_splits_;
  double few_columns_;
};

}  // namespace plimsoll
