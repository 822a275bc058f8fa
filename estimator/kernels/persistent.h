// A recurrent layer's time steps in one persistent kernel of cuDNN: the recurrent weights stay in
// registers and shared memory, and the state goes from one multiprocessor to all others through L2.
//
//   spread over all     rounds = ceil(tiles / groups), groups: as many copies of the weights as
//                       fit, at most 4; those that have work share the multiprocessors
//                       step   = synchronise + rounds * (round + exchange + multiply)
//   all on each (small) step   = one + multiply, a tile of sequences on each
//   layer               = call + layers * directions * T * step
//
// A tile is what one product of the unit takes, and what is exchanged is a tile's states. What runs
// over all steps at once, inputs and weight gradients, is RecurrentModel's.
#pragma once

#include <array>
#include <span>

#include "estimator/kernels/gemm.h"
#include "estimator/kernels/recurrent.h"
#include "estimator/kernels/recurrent_algorithm.h"
#include "graph/ir/kernel.h"
#include "hwdb/calibration_terms.h"

namespace plimsoll {

class PersistentModel {
 public:
  // `terms`: kPersistentTerms.
  PersistentModel(std::span<const double> terms, const GemmRates& rates);
  // Forward or data gradient; `algorithm` is one of the persistent ones. Seconds of a call with
  // its input not multiplied.
  RecurrentCost cost(const RecurrentProblem<int64_t>& problem, RecurrentAlgorithm algorithm,
                     Pass pass, double element_bytes) const;

 private:
  double spread_step(const RecurrentProblem<int64_t>& problem, bool backward,
                     double element_bytes) const;
  double small_step(const RecurrentProblem<int64_t>& problem, bool backward,
                    double element_bytes) const;
  double multiply_seconds(double flop, double multiprocessors, double efficiency) const;

  std::array<double, kPersistentTermCount> terms_;
  GemmRates rates_;
};

}  // namespace plimsoll
