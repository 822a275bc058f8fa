// Depthwise convolutions, each channel by itself: no product of matrices, but kernels that are
// bound by the instructions that find an element. Three sets of them; clocks of one multiprocessor:
//
//   the framework's own, channels first
//     forward   outputs * (output + taps * tap) + inputs * image
//     data      inputs * gradient, or inputs * taps * tap where no kernel is made for the filter
//     weights   a block for each weight: images * (plane + rounds of 32 outputs * round) + block
//   the library's, channels first and last
//     forward   padded inputs * image + outputs * taps * tap; so is data without stride
//     data      inputs * taps * tap
//     weights   inputs * image + outputs * taps * tap
#pragma once

#include <array>
#include <span>

#include "estimator/kernels/conv_algorithms.h"
#include "estimator/kernels/gemm.h"
#include "graph/ir/kernel.h"
#include "hwdb/calibration_terms.h"

namespace plimsoll {

bool is_depthwise(const ConvProblem<int64_t>& problem);

// Whose kernels: the framework's, or the library's in either layout.
enum class DepthwiseKernel : uint8_t { kOwn, kFirst, kLast };
// PyTorch's choice since 1.10 (aten/src/ATen/native/Convolution.cpp, use_cudnn_depthwise and
// check_cudnn_depthwise_workload_with_filter).
DepthwiseKernel depthwise_kernel(const ConvShape& shape, DType dtype, bool channels_last);

class DepthwiseModel {
 public:
  // `terms`: kDepthwiseTerms; `cudnn`: 100 * major + minor, 0 for the newest.
  DepthwiseModel(std::span<const double> terms, const GemmRates& rates, int cudnn = 0);
  ConvCost cost(const ConvShape& shape, DepthwiseKernel kernel) const;

 private:
  double own_clocks(const ConvShape& shape) const;
  double library_clocks(const ConvShape& shape, bool last) const;

  std::array<double, kDepthwiseTermCount> terms_;
  GemmRates rates_;
  double last_ = 1;  // factor on the clocks of the library's kernels, channels last
};

}  // namespace plimsoll
