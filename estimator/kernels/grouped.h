// Convolutions of several groups, of more than one channel each: a product of matrices for every
// group, in short kernels one after the other.
//
//   converted       operands and result are copied to the layout of tensor cores and back, then
//   each
//                group is multiplied: chain + elements * turn + product
//   by element   for few groups in 32 bits cuDNN mostly prefers kernels that copy with general
//                strides, tens of clocks for an element: chain + read * element_in + written *
//                element_out + product
//   plain        ordinary cores: product
//
// A tile of the product is 64 channels wide: narrower groups waste the rest of it.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "estimator/kernels/conv_algorithms.h"
#include "estimator/kernels/device_rates.h"
#include "graph/ir/kernel.h"
#include "hwdb/calibration_terms.h"

namespace plimsoll {

enum class GroupedKernel : uint8_t { kConverted, kByElement, kPlain };

// Several groups, and not depthwise.
bool is_grouped(const ConvProblem<int64_t>& problem);

// What cuDNN answers about grouped convolutions in 32 bits on cards of one compute capability.
// Immutable; answers are read when first asked for.
class GroupedAnswers {
 public:
  explicit GroupedAnswers(int compute_capability);
  // Whether the engine it names first copies by the element. `tensor_cores`: TF32 is allowed. On an
  // H100 all 24 measured problems forward and to data in 32 bits did, or did not, as it says (by
  // their times and scratch memory).
  bool by_element(const ConvProblem<int64_t>& problem, Pass pass, bool tensor_cores) const;

 private:
  struct Tables;
  std::shared_ptr<Tables> tables_;
};

// What cuDNN runs in `unit`. `answers`: null where they are not known, and where kernels are timed
// rather than guessed, for the other kernels are always faster.
GroupedKernel grouped_kernel(const ConvProblem<int64_t>& problem, const ConvShape& shape,
                             Arithmetic unit, const GroupedAnswers* answers);

class GroupedModel {
 public:
  // `terms`: kGroupedTerms; `clock`: sustained, relative to the printed boost; `cudnn`: 0, the
  // newest.
  GroupedModel(std::span<const double> terms, const DeviceRates& rates, double clock,
               int cudnn = 0);
  ConvCost cost(const ConvShape& shape, Arithmetic unit, GroupedKernel kernel,
                bool channels_last) const;

 private:
  double copies(const ConvShape& shape, GroupedKernel kernel, bool channels_last) const;
  bool on_cuda_cores(const ConvShape& shape, bool channels_last) const;

  int cudnn_;
  std::array<double, kGroupedTermCount> terms_;
  std::array<double, kArithmeticCount> flops_;
  double clocks_, bandwidth_;  // of all multiprocessors, 1/s; B/s
};

}  // namespace plimsoll
