#include "estimator/time/attention.h"

#include <algorithm>

namespace plimsoll {
namespace {

// FlashAttention-2 (Dao 2023, arXiv:2307.08691, section 4.1) reports 50-73 % of the A100's peak
// forward and 44-63 % backward; the first FlashAttention 30-50 % and 25-35 %.
constexpr double kFlashForward = .55, kFlashBackward = .45;
constexpr double kMemoryEfficientForward = .40, kMemoryEfficientBackward = .30;

}  // namespace

AttentionCost attention_cost(const AttentionProblem<int64_t>& p, Pass pass, double element_bytes,
                             double flops, double bandwidth) {
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
  const bool flash = p.form == AttentionForm::kFlash || p.form == AttentionForm::kLibrary;
  const double efficiency = flash ? (forward ? kFlashForward : kFlashBackward)
                                  : (forward ? kMemoryEfficientForward : kMemoryEfficientBackward);
  const double compute = cost.flop / (flops * efficiency), memory = cost.bytes / bandwidth;
  cost.memory_bound = memory > compute;
  cost.seconds = std::max(compute, memory);
  return cost;
}

}  // namespace plimsoll
