#include "estimator/kernels/attention.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

// FlashAttention-2 (Dao 2023, arXiv:2307.08691, section 4.1) reports 50-73 % of the A100's peak
// forward and 44-63 % backward; the first FlashAttention 30-50 % and 25-35 %.
constexpr double kFlashForward = .55, kFlashBackward = .45;
constexpr double kMemoryEfficientForward = .40, kMemoryEfficientBackward = .30;
// ... whose kernels flash-attn had before 2.0. Its Triton kernels are "slightly slower" in both
// passes together (HazyResearch/flash-attention v1.0.9, flash_attn_triton.py). Hopper has no
// instructions of its own in either version.
constexpr double kFirstForward = .40 / .55, kFirstBackward = .30 / .45;
// Bandwidth the memory system gives to fused attention; assumed.
constexpr double kBandwidth = .8;

// From Hopper on, measured (measured/attention-h100.csv: 24 shapes of 49 to 8192 tokens and heads
// of 32 to 128, PyTorch 2.11, cuDNN 9.19; mean error 6 to 12 %). Queries and keys are padded to
// whole tiles, heads of 128 feed the tensor cores best, `ramp` keys are lost before the loop is
// full. A mask is read for each head: the median of measured/attention-h200.csv; flash takes none.
struct FusedKernel {
  double tile;        // queries and keys
  double efficiency;  // of the peak, heads of 128
  double half_head;   // head size that would reach half of what an endless one does
  double ramp;        // keys
  double fixed;       // seconds beside a launch
  double bandwidth;   // share of the nominal
  double masked = 1;  // times the work
};
constexpr int kMeasuredSince = 90;
constexpr FusedKernel kLibraryKernels[] = {{128, .685, 66, 178, 3e-6, .95, 1.83},
                                           {128, .54, 176, 29, 9.5e-6, .365, 1.51}};
constexpr FusedKernel kFlashKernels[] = {{128, .36, 23, 112, 5e-6, .99},
                                         {128, .315, 0, 420, 17e-6, .32}};
constexpr FusedKernel kMemoryEfficient16[] = {{64, .17, 63, 11, 4.5e-6, .87, 1.42},
                                              {64, .125, 67, 0, 15.5e-6, .91, 1.09}};
constexpr FusedKernel kMemoryEfficient32[] = {{64, .69, 89, 9, 10.5e-6, .30, 1.17},
                                              {64, .55, 10, 51, 27.5e-6, .665, 1.04}};

double version_of(const AttentionProblem<int64_t>& p, bool forward, const AttentionRates& rates) {
  if (!rates.first_flash || p.form != AttentionForm::kFlash) return 1;
  return forward ? kFirstForward : kFirstBackward;
}

const FusedKernel& fused_kernel(AttentionForm form, bool backward, double element_bytes) {
  if (form == AttentionForm::kLibrary) return kLibraryKernels[backward];
  if (form == AttentionForm::kFlash) return kFlashKernels[backward];
  return element_bytes < 4 ? kMemoryEfficient16[backward] : kMemoryEfficient32[backward];
}

}  // namespace

AttentionCost attention_cost(const AttentionProblem<int64_t>& p, Pass pass, double element_bytes,
                             const AttentionRates& rates) {
  const double rows =
      static_cast<double>(p.batch) * static_cast<double>(p.heads) * static_cast<double>(p.queries);
  const double keys = static_cast<double>(p.keys) * (p.causal ? .5 : 1);
  const double sizes = static_cast<double>(p.head_size) + static_cast<double>(p.value_size);
  const bool forward = pass == Pass::kForward;
  AttentionCost cost;
  // Backward recomputes the scores and makes four more products: 5 against 2.
  cost.flop = 2 * rows * keys * sizes * (forward ? 1 : 2.5);
  const double key_rows =
      static_cast<double>(p.batch) * static_cast<double>(p.kv_heads) * static_cast<double>(p.keys);
  cost.bytes = (rows + key_rows) * sizes * element_bytes * (forward ? 1 : 2.5);
  if (rates.compute_capability >= kMeasuredSince) {
    const FusedKernel& k = fused_kernel(p.form, !forward, element_bytes);
    const auto tiled = [&](int64_t n) {
      return std::ceil(static_cast<double>(n) / k.tile) * k.tile;
    };
    const double seen = p.causal ? tiled(p.keys) / 2 + k.tile / 2 : tiled(p.keys);
    const double head = sizes / 2;
    const double efficiency = k.efficiency * version_of(p, forward, rates) * head /
                              (head + k.half_head) * (128 + k.half_head) / 128;
    const double padded = cost.flop / (rows * keys) * rows / static_cast<double>(p.queries) *
                          tiled(p.queries) * (seen + k.ramp);
    cost.compute_seconds = padded / (rates.flops * efficiency) * (p.masked ? k.masked : 1);
    cost.memory_seconds = cost.bytes / (rates.bandwidth * k.bandwidth);
    cost.seconds = std::max(cost.compute_seconds, cost.memory_seconds) + k.fixed;
    return cost;
  }
  const bool flash = p.form == AttentionForm::kFlash || p.form == AttentionForm::kLibrary;
  const double kernel = flash ? (forward ? kFlashForward : kFlashBackward)
                              : (forward ? kMemoryEfficientForward : kMemoryEfficientBackward);
  const double efficiency = kernel * version_of(p, forward, rates);
  cost.compute_seconds = cost.flop / (rates.flops * efficiency);
  cost.memory_seconds = cost.bytes / (rates.bandwidth * kBandwidth);
  cost.seconds = std::max(cost.compute_seconds, cost.memory_seconds);
  return cost;
}

}  // namespace plimsoll
