// Recurrent layers as one library call runs them: a multiplication per time step, which the library
// tiles by the number of sequences, and one multiplication over all steps for inputs and weights.
//
//   forward, data gradient  call + layers * directions * T * (GEMM(gates*H x B, k = H) + step)
//                           + GEMM(gates*H x B*T, k = input) unless the input is skipped
//   weight gradient         call + one GEMM(gates*H x H, k = B*T) per layer and direction
//
// The seconds are those of the whole call. Where the host launches a step's kernels slower than the
// card runs them they are the host's, as on an H100 up to some 1024 hidden units (GRU in 16 bits,
// 512 units, 64 sequences, 100 steps: 3.2 ms a call forward and back, 1.5 ms of kernels).
#pragma once

#include <span>

#include "estimator/kernels/gemm.h"
#include "graph/ir/kernel.h"

namespace plimsoll {

struct RecurrentCost {
  double seconds = 0;
  double flop = 0, bytes = 0;
  double step_seconds = 0;  // the part that does not shrink with a faster device
  double compute_seconds = 0, memory_seconds = 0;  // of its products
  bool memory_bound() const { return memory_seconds > compute_seconds; }
};

class RecurrentModel {
 public:
  // `terms`: kGemmTerms then kRecurrentTerms; `splits_few`: products for 17 to 32 sequences may be
  // split along their sums.
  RecurrentModel(std::span<const double> terms, const GemmRates& rates, bool splits_few);
  RecurrentCost cost(const RecurrentProblem<int64_t>& problem, Pass pass,
                     double element_bytes) const;
  // Its part that is not done step by step: products over all steps, no call.
  RecurrentCost over_time(const RecurrentProblem<int64_t>& problem, Pass pass,
                          double element_bytes) const;

 private:
  GemmCost step(double gates_hidden, double hidden, double batch, bool backward,
                double element_bytes) const;

  GemmModel gemm_;
  bool splits_few_;
  double step_, call_, thin_, backward_step_, weight_gradient_, gates_bandwidth_;
};

// Multiplications of one step: 1 for plain cells, 3 for GRU, 4 for LSTM.
double gate_count(Cell cell);

}  // namespace plimsoll
