#include "estimator/time/step_time.h"

#include <algorithm>
#include <cmath>
#include <utility>

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

double in_step(const KernelTime& time, const StepHabits& habits, const DeviceRates& rates) {
  const bool throttled = time.bound_by == BoundBy::kCompute;
  const double factor = habits.gpu_factor * (throttled ? 1 / rates.sustained : 1);
  const double clock = time.bound_by == BoundBy::kDram ? 1 : rates.maximum_clock;
  return time.seconds * std::max(factor, std::min(1.0, time.fraction_of_peak / clock));
}

void StepSum::add(const KernelAt& kernel, const Launches& launches, const KernelTime& time) {
  const double each = in_step(time, *habits_, *rates_);
  const auto count = static_cast<double>(launches.count);
  step_.phase[static_cast<size_t>(launches.phase)] += each * count;
  step_.gpu += each * count;
  const double scale = time.seconds > 0 ? each / time.seconds : 1;
  const double below = (time.seconds - time.low) * scale * count;
  const double above = (time.high - time.seconds) * scale * count;
  low_ += below;
  high_ += above;
  low_squares_ += below * below;
  high_squares_ += above * above;
  if (!launches.dispatched) return;
  const double launch = is_unrolled(kernel) ? habits_->cell_launch : habits_->launch;
  const double dispatch = static_cast<double>(launches.count * time.launches) * launch;
  step_.host += dispatch;
  if (launches.phase == StepPhase::kForward) forward_ += dispatch;
}

StepTime StepSum::finish(const StepTimeInput& around) const {
  StepTime step = step_;
  step.fixed =
      habits_->fixed + habits_->per_parameter * static_cast<double>(around.parameter_arrays);
  if (habits_->input_bandwidth > 0) {
    const double copy = static_cast<double>(around.input_bytes) / habits_->input_bandwidth;
    const double beside = habits_->copies_beside_update ? step.fixed - habits_->fixed : 0;
    step.input_copy = std::max(0.0, copy - beside);
  }
  add_devices(around, forward_, step);
  step.host_bound = step.host > step.gpu;
  const double beside = step.fixed + step.input_copy + step.communication;
  step.seconds = device_or_host(step.gpu, step.host) + beside;
  const auto spread = [](double linear, double squares) {
    return kCommonError * linear + (1 - kCommonError) * std::sqrt(squares);
  };
  set_range(spread(low_, low_squares_), spread(high_, high_squares_), around.errors, step);
  step.gpu_busy = step.seconds > 0 ? step.gpu / step.seconds : 0;
  return step;
}

StepTime step_time(const StepTimeInput& input, const TimeContext& context) {
  std::vector<KernelTime> times;
  times.reserve(input.kernels.size());
  StepSum sum(input.habits, context.rates());
  for (const CountedKernel& row : input.kernels) {
    times.push_back(kernel_time(row.kernel, context));
    sum.add(row.kernel, row.launches, times.back());
  }
  StepTime step = sum.finish(input);
  step.kernels = std::move(times);
  return step;
}

}  // namespace plimsoll
