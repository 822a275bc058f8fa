#include "estimator/time/step_time.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "estimator/kernels/unrolled.h"
#include "graph/base/cancel.h"

namespace plimsoll {
namespace {

// Errors of distinct kernels are neither independent nor the same: of the squared and the linear
// sum, this share is linear. Chosen so that 90 % of the steps of cnn-benchmarks lie in the range.
constexpr double kCommonError = .35;

// The power of the mean of device and host: from MXNet, PyTorch and TensorFlow at batches of 1 to
// 32, where one takes over from the other (tests/accuracy/hosts.py).
constexpr double kSmooth = 2.5;

double device_or_host(double gpu, double host) {
  const double larger = std::max(gpu, host), smaller = std::min(gpu, host);
  if (smaller <= 0) return larger;
  return larger * std::pow(1 + std::pow(smaller / larger, kSmooth), 1 / kSmooth);
}

// Bytes per second in which a loader fills a batch: memory that was used before, and fresh pages
// from the system. Allocations above 32 MiB are always fresh: glibc, malloc/malloc.c,
// DEFAULT_MMAP_THRESHOLD_MAX. Rates from a PyTorch DataLoader without workers on one host: batches
// of 19 MB at about 8, of 77 MB at 2.4 GB/s.
constexpr double kWarmFill = 8e9, kFreshFill = 2.4e9;
constexpr double kAlwaysFresh = 32 << 20;

// Seconds of threads that load one batch, which takes `factor` times as long as it does.
double loading_seconds(const LoaderHabits& loader, const StepTimeInput& input, double factor) {
  if (!loader.counted()) return 0;
  const auto bytes = static_cast<double>(input.input_bytes);
  return factor * input.samples * loader.per_sample +
         bytes / (bytes > kAlwaysFresh ? kFreshFill : kWarmFill);
}

// Of the step that waits for nothing else, `alone`.
double wait_for_loader(const LoaderHabits& loader, const StepTimeInput& input, double alone,
                       double factor) {
  if (!loader.counted()) return 0;
  const double batch = loading_seconds(loader, input, factor);
  if (loader.processes == 0 && !loader.beside) return batch;
  const double each = batch / static_cast<double>(std::max<int64_t>(1, loader.processes));
  return std::max(0.0, each - alone);
}

// Of all parts, where the host takes `host` times as long.
double busy_seconds(const StepTime& step, double host) {
  double seconds = 0;
  for (const StepPart& part : step.parts) seconds += device_or_host(part.gpu, part.host * host);
  return seconds;
}

// Seconds of the step where the host, and its loader, take `host` and `loader` times as long.
double seconds_of(const StepTime& step, const StepTimeInput& input, double host, double loader) {
  const double alone = busy_seconds(step, host) + step.fixed * host + step.input_copy +
                       step.communication + step.offload + step.bubble;
  return alone + wait_for_loader(input.habits.loader, input, alone, loader);
}

// What the step waits for of an exchange that takes `slower` times as long; `work`: seconds of the
// devices between its points.
ExchangeWaits waited(const StepTimeInput& input, std::span<const double> work, double slower) {
  return exposed_exchange(*input.scheme, input.exchange, work, input.axes, slower);
}

// By how much the kernels' errors may make the device's work shorter or longer, seconds.
struct KernelSpread {
  double below = 0, above = 0;
};

// Kernels' errors and the step's own, added in squares of logarithms.
void set_range(const KernelSpread& kernels, std::span<const double> work,
               const StepTimeInput& input, StepTime& step) {
  if (step.seconds <= 0) return;
  const StepRange& errors = input.errors;
  const double own = std::hypot(errors.step, errors.copy * step.input_copy / step.seconds);
  const auto again = [&](double side) {
    const double host = seconds_of(step, input, std::exp(side * errors.host), 1);
    const double loader = seconds_of(step, input, 1, std::exp(side * errors.loader));
    const double more = waited(input, work, std::exp(side * errors.exchange)).all() -
                        step.communication - step.offload;
    return std::hypot(std::log(host / step.seconds), std::log(loader / step.seconds),
                      std::log1p(more / step.seconds));
  };
  const double left = std::max(1e-3, 1 - kernels.below / step.seconds);
  const double right = std::log1p(kernels.above / step.seconds);
  const double files = input.habits.loader.from_files ? errors.files : 0;
  step.low = step.seconds * std::exp(-std::hypot(own, again(-1), std::log(left)));
  step.high = step.seconds * std::exp(std::hypot(std::hypot(own, files), again(1), right));
}

// torch/nn/parallel/data_parallel.py: one process brings the batches of all devices to the first,
// which scatters them, makes a replica of the model on each, object by object, and calls them by a
// thread each, which share the interpreter's lock, so that forward passes are dispatched one after
// the other; backward passes are C++'s, a thread each that shares nothing. `forward`: seconds of
// dispatching one forward pass.
void feed_devices(const StepTimeInput& input, double forward, StepTime& step) {
  const auto devices = static_cast<double>(input.devices);
  const double after = step.host - forward;
  const double device = step.phase[static_cast<size_t>(StepPhase::kForward)];
  step.parts = {StepPart{device, devices * forward}, {step.gpu - device, after}};
  step.host = step.parts[0].host + after;
  step.fixed += devices * static_cast<double>(input.replicated) * input.habits.per_replica;
  const double link = input.axes[static_cast<size_t>(Axis::kData)].rates.link.in_one_direction();
  step.input_copy *= devices;
  if (link > 0) step.input_copy += (devices - 1) * static_cast<double>(input.input_bytes) / link;
}

// Of one kernel, seconds of the host.
double dispatch_of(const KernelAt& kernel, StepPhase phase, const StepHabits& habits) {
  const bool captured = phase == StepPhase::kForward || phase == StepPhase::kBackward;
  if (habits.replay && captured) return habits.replay->per_node;
  return is_unrolled(kernel) ? habits.cell_launch : habits.launch;
}

}  // namespace

double share_of_peak(const KernelTime& time, double seconds) {
  return seconds > 0 ? time.fraction_of_peak * time.seconds / seconds : 0;
}

double in_step(const KernelTime& time, const StepHabits& habits, const DeviceRates& rates) {
  const double clock = time.bound_by == BoundBy::kDram ? 1 : rates.maximum_clock;
  return std::max(habits.gpu_factor * at_sustained_clock(time, rates),
                  time.seconds * std::min(1.0, time.fraction_of_peak / clock));
}

void StepSum::add(const KernelAt& kernel, const Launches& launches, const KernelTime& time) {
  const double each = in_step(time, *habits_, *rates_);
  const auto count = static_cast<double>(launches.count);
  phase_[static_cast<size_t>(launches.phase)] += each * count;
  if (launches.stretch >= stretches_.size()) stretches_.resize(launches.stretch + 1);
  stretches_[launches.stretch] += each * count;
  gpu_ += each * count;
  const double scale = time.seconds > 0 ? each / time.seconds : 1;
  const double below = (time.seconds - time.low) * scale * count;
  const double above = (time.high - time.seconds) * scale * count;
  low_ += below;
  high_ += above;
  low_squares_ += below * below;
  high_squares_ += above * above;
  if (!launches.dispatched) return;
  const double dispatch = static_cast<double>(launches.count * time.launches) *
                          dispatch_of(kernel, launches.phase, *habits_);
  host_ += dispatch;
  if (launches.phase == StepPhase::kForward) forward_ += dispatch;
}

namespace {

// Of the time of forward and backward passes. Gradients of weights take as long as the forward
// pass, which multiplies as much.
double weights_share(const StepTime& step) {
  const double forward = step.phase[static_cast<size_t>(StepPhase::kForward)];
  const double passes = step.gpu - step.phase[static_cast<size_t>(StepPhase::kUpdate)];
  return passes > 0 ? std::min(forward / passes, 1. / 3) : 0;
}

}  // namespace

StepTime StepSum::finish(const StepTimeInput& around) const {
  StepTime step;
  for (size_t phase = 0; phase < phase_.size(); ++phase) step.phase[phase] = phase_[phase].value();
  step.gpu = gpu_.value();
  step.host = host_.value();
  if (const auto& replay = habits_->replay)
    step.host += static_cast<double>(replay->passes) * replay->per_pass;
  step.fixed =
      habits_->fixed + habits_->per_parameter * static_cast<double>(around.parameter_arrays);
  if (habits_->input_bandwidth > 0) {
    const double copy = static_cast<double>(around.input_bytes) / habits_->input_bandwidth;
    const double beside = habits_->copies_beside_update ? step.fixed - habits_->fixed : 0;
    step.input_copy = std::max(0.0, copy - beside);
  }
  step.parts[0] = {step.gpu, step.host};
  if (around.devices > 1 && around.scheme->one_process)
    feed_devices(around, forward_.value(), step);
  // Where the host holds the devices up, they come by the points of their exchange later.
  step.slowdown = step.gpu > 0 ? busy_seconds(step, 1) / step.gpu : 1;
  std::vector<double> work;
  for (const OrderlessSum& sum : stretches_) work.push_back(sum.value() * step.slowdown);
  const ExchangeWaits waits = waited(around, work, 1);
  step.communication = waits.exchange;
  step.offload = waits.host;
  const double passes = step.gpu - step.phase[static_cast<size_t>(StepPhase::kUpdate)];
  step.passes = device_or_host(passes, step.host) + step.communication;
  step.weights = weights_share(step);
  step.bubble = parallel::bubble_of(around.schedule, around.pipeline, step.weights) * step.passes *
                around.other_stages;
  step.seconds = seconds_of(step, around, 1, 1);
  const double busy = busy_seconds(step, 1);
  const double isolated =
      busy + step.fixed + step.input_copy + step.communication + step.offload + step.bubble;
  step.load = step.seconds - isolated;
  step.loading = loading_seconds(around.habits.loader, around, 1);
  step.host_bound = step.host + step.fixed + step.load > step.gpu;
  step.input_bound =
      step.load + step.input_copy > busy + step.fixed + step.communication + step.offload;
  const auto spread = [](double linear, double squares) {
    return kCommonError * linear + (1 - kCommonError) * std::sqrt(squares);
  };
  set_range({.below = spread(low_.value(), low_squares_.value()),
             .above = spread(high_.value(), high_squares_.value())},
            work, around, step);
  step.gpu_busy = step.seconds > 0 ? step.gpu / step.seconds : 0;
  return step;
}

StepTime step_time(const StepTimeInput& input, const TimeContext& context) {
  std::vector<KernelTime> times;
  times.reserve(input.kernels.size());
  StepSum sum(input.habits, context.rates());
  for (const CountedKernel& row : input.kernels) {
    check_cancelled();
    const bool again = !times.empty() && row.kernel == input.kernels[times.size() - 1].kernel;
    times.push_back(again ? times.back() : kernel_time(row.kernel, context));
    sum.add(row.kernel, row.launches, times.back());
  }
  StepTime step = sum.finish(input);
  step.kernels = std::move(times);
  return step;
}

}  // namespace plimsoll
