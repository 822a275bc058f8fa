#include "estimator/time/step_time.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

// Errors of distinct kernels are neither independent nor the same: of the squared and the linear
// sum, this share is linear. Chosen so that 90 % of the steps of cnn-benchmarks lie in the range.
constexpr double kCommonError = .35;

// The power of the mean of device and host: from MXNet, PyTorch and TensorFlow at batches of 1 to
// 32, where one takes over from the other (tests/accuracy/hosts.py).
constexpr double kSmooth = 2.5;

// Threads that dispatch forward passes wait for each other's interpreter lock: so much longer
// (ryujaehun/pytorch-gpu-benchmark, 2 and 3 TITAN Xp).
constexpr double kThreads = 1.5;

double device_or_host(double gpu, double host) {
  const double larger = std::max(gpu, host), smaller = std::min(gpu, host);
  if (smaller <= 0) return larger;
  return larger * std::pow(1 + std::pow(smaller / larger, kSmooth), 1 / kSmooth);
}

// Kernels' errors and the step's own, added in squares of logarithms. `below` and `above`: seconds
// by which the device's work may be shorter or longer.
void set_range(double below, double above, const StepRange& errors, StepTime& step) {
  if (step.seconds <= 0) return;
  const double busy = device_or_host(step.gpu, step.host);
  const double by_host = busy > 0 ? std::pow(step.host / busy, kSmooth) : 0;
  const double dispatch = by_host * busy + step.fixed;
  const auto part = [&](double error, double seconds) { return error * seconds / step.seconds; };
  const double own = std::hypot(
      errors.step, std::hypot(part(errors.host, dispatch), part(errors.copy, step.input_copy),
                              part(errors.exchange, step.communication)));
  const double left = std::max(1e-3, 1 - below / step.seconds);
  step.low = step.seconds * std::exp(-std::hypot(own, std::log(left)));
  step.high = step.seconds * std::exp(std::hypot(own, std::log1p(above / step.seconds)));
}

// Exchange of a step on several devices, and what one host does for them; `forward`: seconds of
// dispatching a forward pass.
void add_devices(const StepTimeInput& input, double forward, StepTime& step) {
  const StepHabits& habits = input.habits;
  const double backward = step.phase[static_cast<size_t>(StepPhase::kBackward)];
  const auto bytes = static_cast<double>(input.parameter_bytes);
  if (!input.replicate || input.devices <= 1) {
    step.communication = exposed_all_reduce(bytes, input.devices, backward, input.link);
    return;
  }
  const auto others = static_cast<double>(input.devices - 1);
  step.host += others * kThreads * forward;
  step.fixed +=
      others * (habits.forward + static_cast<double>(input.parameter_arrays) * habits.per_replica);
  const double once = input.link.bandwidth > 0 ? bytes / input.link.bandwidth : 0;
  step.communication = input.training ? 2 * once : once;
}

}  // namespace

StepTime step_time(const StepTimeInput& input, const TimeContext& context) {
  StepTime step;
  std::vector<const KernelAt*> kernels;
  kernels.reserve(input.kernels.size());
  for (const CountedKernel& row : input.kernels) kernels.push_back(&row.kernel);
  step.kernels = kernel_times(kernels, context);
  const StepHabits& habits = input.habits;
  double forward = 0;  // seconds of dispatch
  double low = 0, high = 0, low_squares = 0, high_squares = 0;
  for (size_t i = 0; i < input.kernels.size(); ++i) {
    const CountedKernel& row = input.kernels[i];
    const KernelTime& time = step.kernels[i];
    const bool throttled = time.bound_by == BoundBy::kCompute;
    const double slower = throttled ? 1 / context.rates().sustained : 1;
    const double count = static_cast<double>(row.count) * habits.gpu_factor * slower;
    step.phase[static_cast<size_t>(row.phase)] += time.seconds * count;
    step.gpu += time.seconds * count;
    const double below = (time.seconds - time.low) * count;
    const double above = (time.high - time.seconds) * count;
    low += below;
    high += above;
    low_squares += below * below;
    high_squares += above * above;
    const double each = is_unrolled(row.kernel) ? habits.cell_launch : habits.launch;
    const double dispatch =
        row.dispatched ? static_cast<double>(row.count * time.launches) * each : 0;
    step.host += dispatch;
    if (row.phase == StepPhase::kForward) forward += dispatch;
  }
  step.fixed = habits.fixed + habits.per_parameter * static_cast<double>(input.parameter_arrays);
  if (habits.input_bandwidth > 0) {
    const double copy = static_cast<double>(input.input_bytes) / habits.input_bandwidth;
    const double beside = habits.copies_beside_update ? step.fixed - habits.fixed : 0;
    step.input_copy = std::max(0.0, copy - beside);
  }
  add_devices(input, forward, step);
  step.host_bound = step.host > step.gpu;
  const double around = step.fixed + step.input_copy + step.communication;
  step.seconds = device_or_host(step.gpu, step.host) + around;
  const auto spread = [](double linear, double squares) {
    return kCommonError * linear + (1 - kCommonError) * std::sqrt(squares);
  };
  set_range(spread(low, low_squares), spread(high, high_squares), input.errors, step);
  step.gpu_busy = step.seconds > 0 ? step.gpu / step.seconds : 0;
  return step;
}

}  // namespace plimsoll
