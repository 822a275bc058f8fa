// What a request says of how kernels are run and timed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "estimator/kernels/conv_algorithms.h"
#include "estimator/kernels/recurrent_algorithm.h"
#include "estimator/request/algorithm_policy.h"
#include "estimator/request/layout.h"
#include "hwdb/machine.h"

namespace plimsoll {

struct Libraries {
  int cudnn = 0, cublas = 0;  // 100 * major + minor; 0: the newest with measurements
};

struct TimeOptions {
  Libraries library{};
  AlgorithmPolicy policy = AlgorithmPolicy::kAutotune;
  ConvAlgorithm forced = ConvAlgorithm::kPrecomputedGemm;
  // The compute capability from which on the library is asked for convolutions of bf16.
  int bf16_library_since = 0;
  // A kernel in a queue hides part of its launch. True: timed alone by the host, as benchmarks do.
  bool alone = false;
  Layout layout = Layout::kNative;
  // Batch norm as Caffe's own sequence of kernels instead of the library's.
  bool separate_batch_norm = false;
  // Flash attention is that of flash-attn before 2.0.
  bool first_flash = false;
  // Batch norm in cuDNN's persistent mode, where the card has it.
  bool persistent_norm = false;
  RecurrentHabits recurrent{};
  // A framework's own forward batch norm and concatenation, times the library's traffic.
  double norm_factor = 1, concat_factor = 1;
  double max_pool_backward = 1;             // the same for the gradient of max pooling
  double bias_factor = 1, relu_factor = 1;  // and for both forward
  std::vector<MachineFactor> machine{};     // of the user's own card
};

}  // namespace plimsoll
