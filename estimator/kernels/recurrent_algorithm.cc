#include "estimator/kernels/recurrent_algorithm.h"

#include <array>

#include "estimator/kernels/recurrent.h"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"standard", "persistent", "persistent_small"};

bool gated(Cell cell) { return cell == Cell::kLstm || cell == Cell::kGru; }

// The hidden units up to which each pass was measured to run, or PyTorch relies on it.
int64_t most_hidden_small(Cell cell, Pass pass) {
  if (pass == Pass::kForward) return gated(cell) ? 192 : 384;
  return gated(cell) ? 128 : 256;
}

// Of one layer, in 16 bits: aten/src/ATen/native/cudnn/RNN.cpp, use_persist_common_heuristics.
bool common_rule(const RecurrentProblem<int64_t>& p) {
  return p.layers == 1 && p.directions == 1 && p.hidden <= 1024 && p.hidden % 128 == 0 &&
         p.input % 128 == 0;
}

// Volta: batches that were found to gain (pytorch/pytorch#11248).
bool volta_rule(const RecurrentProblem<int64_t>& p) {
  const bool batch = p.batch == 8 || (p.batch % 16 == 0 && p.batch != 80 && p.batch != 112);
  const bool long_enough = (p.timesteps >= 40 && p.batch <= 128) ||
                           (p.timesteps >= 20 && p.batch <= 96) ||
                           (p.timesteps >= 10 && p.batch <= 32);
  return batch && long_enough;
}

// Ampere and later, but for small cards and those of capability 8.6 (pytorch/pytorch#43165).
bool ampere_rule(const RecurrentProblem<int64_t>& p, const DeviceRates& rates) {
  if (rates.sms < 98 || rates.compute_capability % 10 == 6) return false;
  if (p.cell == Cell::kGru || p.batch % 8 != 0 || p.batch > 128) return false;
  return p.cell == Cell::kLstm || p.batch < 96 || p.hidden < 896;
}

// ... use_persist_device_heuristics; Turing is left out.
bool device_rule(const RecurrentProblem<int64_t>& p, const DeviceRates& rates) {
  const int generation = rates.compute_capability / 10;
  if (generation == 7) return rates.compute_capability != 75 && volta_rule(p);
  return generation >= 8 && ampere_rule(p, rates);
}

}  // namespace

std::string_view name(RecurrentAlgorithm algorithm) {
  return kNames[static_cast<size_t>(algorithm)];
}

std::optional<RecurrentAlgorithm> recurrent_algorithm_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<RecurrentAlgorithm>(i);
  }
  return std::nullopt;
}

bool has_algorithm(RecurrentAlgorithm algorithm, const RecurrentProblem<int64_t>& p, Pass pass,
                   const DeviceRates& rates) {
  if (algorithm == RecurrentAlgorithm::kStandard) return true;
  if (rates.compute_capability < 60) return false;
  if (algorithm == RecurrentAlgorithm::kPersistentSmall) {
    return p.hidden <= most_hidden_small(p.cell, pass);
  }
  return p.hidden <= (gated(p.cell) ? 1536 : 2560);
}

bool keeps_weights(const RecurrentProblem<int64_t>& p, double element_bytes, double sms) {
  // Of the registers and shared memory of one multiprocessor; measured on an H100 in both 16 and 32
  // bits: 70 KiB are kept, 92 KiB are not.
  constexpr double kKept = 80 * 1024;
  const double hidden = static_cast<double>(p.hidden);
  return gate_count(p.cell) * hidden * hidden * element_bytes <= kKept * sms;
}

RecurrentAlgorithm recurrent_algorithm(const KernelAt& kernel, const RecurrentHabits& habits,
                                       const DeviceRates& rates) {
  const auto& p = std::get<RecurrentProblem<int64_t>>(kernel.problem);
  if (p.unrolled) return RecurrentAlgorithm::kStandard;
  const auto has = [&](RecurrentAlgorithm a) { return has_algorithm(a, p, kernel.pass, rates); };
  if (habits.forced) return has(*habits.forced) ? *habits.forced : RecurrentAlgorithm::kStandard;
  const bool small = habits.small && kernel.dtype != DType::kFloat64;
  if (small && has(RecurrentAlgorithm::kPersistentSmall)) {
    return RecurrentAlgorithm::kPersistentSmall;
  }
  const bool persistent = habits.persistent && kernel.dtype == DType::kFloat16 && common_rule(p) &&
                          device_rule(p, rates);
  return persistent ? RecurrentAlgorithm::kPersistent : RecurrentAlgorithm::kStandard;
}

}  // namespace plimsoll
