// Which of cuDNN's algorithms runs a recurrent layer: a multiplication per time step, or one kernel
// for all of them that keeps the recurrent weights on the multiprocessors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "estimator/kernels/device_rates.h"
#include "graph/ir/kernel.h"

namespace plimsoll {

enum class RecurrentAlgorithm : uint8_t {
  kStandard,         // CUDNN_RNN_ALGO_STANDARD
  kPersistent,       // CUDNN_RNN_ALGO_PERSIST_STATIC: weights spread over all multiprocessors
  kPersistentSmall,  // CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H: all of them on each
};
// "standard", "persistent", "persistent_small".
std::string_view name(RecurrentAlgorithm algorithm);
std::optional<RecurrentAlgorithm> recurrent_algorithm_from_name(std::string_view name);

// What a framework's calls ask for beside the standard algorithm.
struct RecurrentHabits {
  bool persistent = false;  // in 16 bits, where PyTorch's rules of thumb say so
  bool small = false;       // for few hidden units
  // Where it exists, whatever the rules say; else the standard one.
  std::optional<RecurrentAlgorithm> forced{};
};

// Whether cuDNN has `algorithm` for the layer: it refuses more hidden units than its kernels are
// made for (measured with cuDNN 9.19 on an H100, hwdb/calibrations/measured/recurrent.csv), and
// cards older than Pascal.
bool has_algorithm(RecurrentAlgorithm algorithm, const RecurrentProblem<int64_t>& problem,
                   Pass pass, const DeviceRates& rates);

// Whether the multiprocessors keep the recurrent weights from step to step. Where they do not,
// steps read them anew: on an H100 100 of 130 such passes took longer than by the standard
// algorithm, up to 266 times as long. PyTorch asks for none of them there.
bool keeps_weights(const RecurrentProblem<int64_t>& problem, double element_bytes, double sms);

// The algorithm of `kernel`, a recurrent layer that a library runs: PyTorch's rules, which look at
// forward and backward passes apart.
RecurrentAlgorithm recurrent_algorithm(const KernelAt& kernel, const RecurrentHabits& habits,
                                       const DeviceRates& rates);

}  // namespace plimsoll
