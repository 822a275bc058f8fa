#include "estimator/kernels/recurrent.h"

#include <algorithm>
#include <cmath>

#include "hwdb/calibration_terms.h"

namespace plimsoll {

double gate_count(Cell cell) {
  switch (cell) {
    case Cell::kGru:
      return 3;
    case Cell::kLstm:
      return 4;
    default:
      return 1;
  }
}

RecurrentModel::RecurrentModel(std::span<const double> t, const GemmRates& rates, bool splits_few)
    : gemm_(t.first(kGemmTermCount), rates),
      splits_few_(splits_few),
      step_(t[kStep] * 1e-6),
      call_(t[kCall] * 1e-6),
      thin_(std::exp(t[kThin])),
      backward_step_(std::exp(t[kBackwardStep])),
      weight_gradient_(t[kStackWgrad]),
      gates_bandwidth_(t[kGates] * rates.bandwidth) {}

// The library picks its tile by the number of sequences, not by which would be fastest: at 17 to 32
// it takes 128x32, which not every unit's kernels split.
GemmCost RecurrentModel::step(double gates_hidden, double hidden, double batch, bool backward,
                              double element_bytes) const {
  GemmShape g{.m = batch, .n = gates_hidden, .k = hidden, .element_bytes = element_bytes};
  if (backward) {
    std::swap(g.n, g.k);
    g.slower = backward_step_;
  }
  if (batch <= 16) {
    g.tiles = tile_bit(64, 16);
    if (batch <= 8) g.slower *= thin_;
  } else if (batch <= 32) {
    g.tiles = tile_bit(128, 32);
    g.may_split = splits_few_;
  } else {
    g.tiles = tile_bit(128, 64) | tile_bit(128, 128);
  }
  return gemm_.cost(g);
}

namespace {

void add(RecurrentCost& total, const GemmCost& cost, double times) {
  total.seconds += cost.seconds * times;
  total.flop += cost.flop * times;
  total.bytes += cost.bytes * times;
  total.compute_seconds += cost.compute_seconds * times;
  total.memory_seconds += cost.memory_seconds * times;
}

}  // namespace

RecurrentCost RecurrentModel::over_time(const RecurrentProblem<int64_t>& p, Pass pass,
                                        double element_bytes) const {
  const double gates = gate_count(p.cell), hidden = static_cast<double>(p.hidden),
               batch = static_cast<double>(p.batch), steps = static_cast<double>(p.timesteps),
               directions = static_cast<double>(p.directions);
  const bool weights = pass == Pass::kBackwardWeights || pass == Pass::kBackward;
  const bool data = pass != Pass::kBackwardWeights;
  RecurrentCost total;
  for (int64_t layer = 0; layer < p.layers; ++layer) {
    const double input = layer > 0 ? hidden * directions : static_cast<double>(p.input);
    const bool multiply_input = layer > 0 || !p.skip_input;
    if (data && multiply_input) {
      add(total,
          gemm_.cost(GemmShape{
              .m = batch * steps, .n = gates * hidden, .k = input, .element_bytes = element_bytes}),
          directions);
    }
    if (weights) {
      GemmShape g{.m = hidden,
                  .n = gates * hidden,
                  .k = batch * steps,
                  .element_bytes = element_bytes,
                  .slower = 1 / weight_gradient_};
      add(total, gemm_.cost(g), directions);
      g.m = input;
      if (multiply_input) add(total, gemm_.cost(g), directions);
    }
  }
  return total;
}

RecurrentCost RecurrentModel::cost(const RecurrentProblem<int64_t>& p, Pass pass,
                                   double element_bytes) const {
  const double gates = gate_count(p.cell), hidden = static_cast<double>(p.hidden),
               batch = static_cast<double>(p.batch);
  RecurrentCost total = over_time(p, pass, element_bytes);
  total.seconds += call_;
  total.step_seconds = call_;
  if (pass == Pass::kBackwardWeights) return total;
  const auto steps = static_cast<double>(p.timesteps * p.layers * p.directions);
  add(total, step(gates * hidden, hidden, batch, pass != Pass::kForward, element_bytes), steps);
  const double gate_bytes = (2 * gates + 2) * hidden * batch * element_bytes;
  total.seconds += (step_ + gate_bytes / gates_bandwidth_) * steps;
  total.step_seconds += step_ * steps;
  total.bytes += gate_bytes * steps;
  return total;
}

}  // namespace plimsoll
