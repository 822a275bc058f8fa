#include "estimator/kernels/persistent.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

constexpr double kMicro = 1e-6, kKib = 1024;
// Copies of the weights, measured: four batches of a tile take the time of one on an H100, no more.
constexpr double kMostGroups = 4;
constexpr double kFewSequences = 8;  // sequences, half of the tensor cores' tile

// Of the terms of plain cells, GRU and LSTM, one after the other.
size_t of_cell(Cell cell, PersistentTerm plain) {
  return static_cast<size_t>(plain) + (cell == Cell::kLstm ? 2 : cell == Cell::kGru ? 1 : 0);
}

double recurrent_flop(const RecurrentProblem<int64_t>& p, double sequences) {
  const auto hidden = static_cast<double>(p.hidden);
  return 2 * gate_count(p.cell) * hidden * hidden * sequences;
}

// Sequences that one round takes: tensor cores multiply by 16 (LSTM's kernels; others take two at
// a time), plain cores by 8.
double tile_of(Cell cell, bool wide) {
  if (wide) return 8;
  return cell == Cell::kLstm ? 16 : 32;
}

// Groups of multiprocessors that work on tiles of their own, each with a copy of the weights, where
// `fit` find place. Plain cells' kernels of 16 bits always make two, of 32 bits one; others more
// than one for larger batches only (measured with cuDNN 9.19 on an H100).
double groups_of(const RecurrentProblem<int64_t>& p, bool backward, bool wide, double fit) {
  const double most = std::clamp(std::floor(fit), 1.0, kMostGroups);
  if (gate_count(p.cell) == 1) return wide ? 1 : std::max(2.0, most);
  const bool early = wide ? backward : p.cell == Cell::kGru;
  const int64_t alone = !early ? 64 : wide ? 32 : 0;  // sequences
  return p.batch <= alone ? 1 : most;
}

}  // namespace

PersistentModel::PersistentModel(std::span<const double> terms, const GemmRates& rates)
    : rates_(rates) {
  std::copy_n(terms.begin(), terms_.size(), terms_.begin());
}

double PersistentModel::multiply_seconds(double flop, double multiprocessors,
                                         double efficiency) const {
  return flop / (rates_.flops / rates_.sms * multiprocessors * efficiency);
}

double PersistentModel::spread_step(const RecurrentProblem<int64_t>& p, bool backward,
                                    double element_bytes) const {
  const bool wide = element_bytes > 2;
  const auto hidden = static_cast<double>(p.hidden), batch = static_cast<double>(p.batch);
  const double weights = gate_count(p.cell) * hidden * hidden * element_bytes;
  const double kept = rates_.sms * terms_[kPersistentKept] * kKib;
  const double tile = tile_of(p.cell, wide), tiles = std::ceil(batch / tile);
  const double rounds = std::ceil(tiles / groups_of(p, backward, wide, kept / weights));
  const double groups = std::ceil(tiles / rounds);  // no more than have work
  const double exchange = tile * hidden * element_bytes / (terms_[kPersistentExchange] * 1e9);
  const double multiply =
      multiply_seconds(recurrent_flop(p, tile), rates_.sms / groups, terms_[kPersistentMultiply]);
  const double thin = !wide && batch <= kFewSequences ? terms_[kPersistentThin] : 0;
  const double round =
      (terms_[of_cell(p.cell, kPersistentPlain)] * kMicro + exchange + multiply) * std::exp(thin);
  const double step = terms_[kPersistentSync] * kMicro + rounds * round;
  return backward ? step * std::exp(terms_[of_cell(p.cell, kPersistentBackwardPlain)]) : step;
}

double PersistentModel::small_step(const RecurrentProblem<int64_t>& p, bool backward,
                                   double element_bytes) const {
  const double tile = element_bytes > 2 ? 1 : 16;
  const double sequences = tile * std::ceil(static_cast<double>(p.batch) / (rates_.sms * tile));
  const double multiply = multiply_seconds(recurrent_flop(p, sequences), 1, terms_[kSmallMultiply]);
  const double one = terms_[gate_count(p.cell) > 1 ? kSmallGated : kSmallPlain] * kMicro;
  return (one + multiply) * (backward ? std::exp(terms_[kSmallBackward]) : 1);
}

RecurrentCost PersistentModel::cost(const RecurrentProblem<int64_t>& p,
                                    RecurrentAlgorithm algorithm, Pass pass,
                                    double element_bytes) const {
  const bool backward = pass != Pass::kForward;
  const double step = algorithm == RecurrentAlgorithm::kPersistentSmall
                          ? small_step(p, backward, element_bytes)
                          : spread_step(p, backward, element_bytes);
  const auto steps = static_cast<double>(p.timesteps * p.layers * p.directions);
  const double states = static_cast<double>(p.batch * p.hidden) * steps;
  RecurrentCost total;
  total.step_seconds = terms_[kPersistentCall] * kMicro;
  // States go through L2, at the multiprocessors' clock.
  total.compute_seconds = steps * step;
  total.seconds = total.step_seconds + total.compute_seconds;
  total.flop = recurrent_flop(p, static_cast<double>(p.batch)) * steps;
  total.bytes = 2 * states * gate_count(p.cell) * element_bytes;
  return total;
}

}  // namespace plimsoll
