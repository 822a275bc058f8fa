#include "estimator/time/step_time.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

// Errors of distinct kernels are neither independent nor the same: of the squared and the linear
// sum, this share is linear. Chosen so that 90 % of the steps of cnn-benchmarks lie in the range.
constexpr double kCommonError = .35;

}  // namespace

StepTime step_time(const StepTimeInput& input, const TimeContext& context) {
  StepTime step;
  step.kernels.reserve(input.kernels.size());
  const StepHabits& habits = input.habits;
  int64_t launches = input.extra_launches;
  double low = 0, high = 0, low_squares = 0, high_squares = 0;
  for (const CountedKernel& row : input.kernels) {
    const KernelTime time = kernel_time(row.kernel, context);
    const double count = static_cast<double>(row.count) * habits.gpu_factor;
    step.phase[static_cast<size_t>(row.phase)] += time.seconds * count;
    step.gpu += time.seconds * count;
    const double below = (time.seconds - time.low) * count;
    const double above = (time.high - time.seconds) * count;
    low += below;
    high += above;
    low_squares += below * below;
    high_squares += above * above;
    launches += row.count;
    step.kernels.push_back(time);
  }
  step.host = static_cast<double>(launches) * habits.launch;
  step.host_bound = step.host > step.gpu;
  step.fixed = habits.fixed + habits.per_parameter * static_cast<double>(input.parameter_arrays) +
               input.seconds_per_sample * static_cast<double>(input.samples);
  if (habits.input_bandwidth > 0) {
    step.input_copy = static_cast<double>(input.input_bytes) / habits.input_bandwidth;
  }
  const double backward = step.phase[static_cast<size_t>(StepPhase::kBackward)];
  step.communication = exposed_all_reduce(static_cast<double>(input.parameter_bytes), input.devices,
                                          backward, input.link);
  const double around = step.fixed + step.input_copy + step.communication;
  step.seconds = std::max(step.gpu, step.host) + around;
  const auto spread = [](double linear, double squares) {
    return kCommonError * linear + (1 - kCommonError) * std::sqrt(squares);
  };
  step.low = std::max(step.gpu - spread(low, low_squares), step.host * .8) + around * .8;
  step.high = std::max(step.gpu + spread(high, high_squares), step.host * 1.25) + around * 1.25;
  step.low = std::min(step.low, step.seconds);
  step.high = std::max(step.high, step.seconds);
  step.gpu_busy = step.seconds > 0 ? step.gpu / step.seconds : 0;
  return step;
}

}  // namespace plimsoll
