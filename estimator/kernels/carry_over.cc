#include "estimator/kernels/carry_over.h"

#include <algorithm>
#include <cmath>

#include "hwdb/calibration_terms.h"

namespace plimsoll {
namespace {

// Products of matrices on Hopper's tensor cores take their operands from shared memory (CUTLASS:
// wgmma); before, warps carried them through registers, and so much of the rate is delivered.
// Convolutions gather theirs on either. Chosen on the steps of tests/measured/steps2-*.json, one
// number for all cards.
constexpr double kThroughRegisters = .6;
constexpr int kFromSharedSince = 90;

class Carrier {
 public:
  Carrier(const SmRate& rate, double delivered, double tile)
      : own_(rate.own), full_(delivered * rate.measured), measured_(rate.measured), tile_(tile) {}

  double rate(double share) const { return std::min(own_, full_ * share); }
  double share(double share) const { return rate(share) / own_; }
  double relative(double of_tile) const { return rate(tile_ * of_tile) / rate(tile_); }
  // A slowdown's logarithm.
  double slowdown(double logarithm) const { return -std::log(relative(std::exp(-logarithm))); }
  double steps(double k_steps) const { return k_steps * rate(tile_) / (tile_ * measured_); }

 private:
  double own_, full_, measured_, tile_;
};

}  // namespace

std::vector<double> carried_over(std::vector<double> terms, std::string_view kernel_class,
                                 const SmRate& rate) {
  if (!rate.is_slower()) return terms;
  const auto each = [&](std::initializer_list<int> which, auto convert) {
    for (const int term : which)
      terms[static_cast<size_t>(term)] = convert(terms[static_cast<size_t>(term)]);
  };
  if (kernel_class == "grouped") {
    const Carrier carrier(rate, 1, terms[kMultiply16]);
    each({kGroupedWeights, kGroupedStrided}, [&](double e) { return carrier.relative(e); });
    each({kMultiply16, kMultiplyTf32}, [&](double share) { return carrier.share(share); });
    return terms;
  }
  const bool conv = kernel_class == "conv";
  if (!conv && kernel_class != "gemm" && kernel_class != "recurrent") return terms;
  const bool through_registers =
      !conv && rate.tensor_cores && rate.compute_capability < kFromSharedSince;
  const Carrier carrier(rate, through_registers ? kThroughRegisters : 1, terms[kTile0]);
  each({kPrologue}, [&](double steps) { return carrier.steps(steps); });
  each({kTransposeA, kTransposeB, kAlign, kAlignOdd},
       [&](double logarithm) { return carrier.slowdown(logarithm); });
  if (conv) {
    each({kWgradSteps}, [&](double steps) { return carrier.steps(steps); });
    each({kDgrad, kWgrad, kStridedDgrad, kColumns}, [&](double e) { return carrier.relative(e); });
    each({kFewChannels}, [&](double logarithm) { return carrier.slowdown(logarithm); });
  }
  for (int t = kTile0; t <= kTileLast; ++t)
    terms[static_cast<size_t>(t)] = carrier.share(terms[static_cast<size_t>(t)]);
  return terms;
}

}  // namespace plimsoll
