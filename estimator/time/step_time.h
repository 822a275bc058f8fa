// step_time: from kernels to a training step. What the device does, what the host must do to keep
// it fed, and what of the exchange between devices stays visible.
//
//   gpu  = sum of count * kernel_time, with its arithmetic at the clock that the card sustains
//   host = launches * host_seconds_per_launch, of passes that are replayed one for each
//   load = samples * loader's seconds + bytes / its copy
//   step = (gpu^p + host^p)^(1/p) + copies + framework's own terms + exposed communication + load
//
// where of a loader with processes or threads of its own what is longer than the step counts.
// A step's layers are bound by the device or the host each by itself, so where both are near each
// other the step is longer than either.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "estimator/library/kernel_time.h"
#include "estimator/time/exchange.h"
#include "graph/base/orderless_sum.h"
#include "graph/parallel/schedule.h"

namespace plimsoll {

enum class StepPhase : uint8_t { kForward, kLoss, kBackward, kUpdate };
inline constexpr int kStepPhaseCount = 4;

// Of one kernel in one phase of a step.
struct Launches {
  int64_t count = 1;
  StepPhase phase = StepPhase::kForward;
  bool dispatched = true;  // false: an operator launches it after its main kernel
  size_t stretch = 0;      // how many of the step's exchange points come before it
};

struct CountedKernel {
  KernelAt kernel;
  Launches launches;
};

// A batch on its way from the data set into memory, in the host's time.
struct LoaderHabits {
  double per_sample = 0;    // seconds; 0: no loader is counted
  int64_t processes = 0;    // 0: the process that launches loads too
  bool beside = false;      // threads of its own: as one process
  bool from_files = false;  // read and decoded, which is not counted
  bool counted() const { return per_sample > 0; }
};

// Forward and backward passes that were captured as CUDA graphs and are replayed. Seconds each.
struct GraphReplay {
  int64_t passes = 1;   // of a step
  double per_pass = 0;  // to replay one
  double per_node = 0;  // ... of each of its kernels
};

// Habits of a framework on a host: from its profile, never fitted to one card. Seconds each.
struct StepHabits {
  double launch = 0;           // host time to dispatch one kernel
  double cell_launch = 0;      // ... of an unrolled recurrent layer, where every operator is one
  double fixed = 0;            // per step: synchronisation, Python around the step
  double per_parameter = 0;    // per parameter array: key-value store, optimizer call
  double input_bandwidth = 0;  // B/s of the copy of a batch inside the step; 0: it is overlapped
  // That copy runs while parameters are updated array by array: what is longer counts.
  bool copies_beside_update = false;
  double gpu_factor = 1;   // in-situ kernels against those timed alone
  double per_replica = 0;  // of an object made on a device by one process that feeds several
  std::optional<GraphReplay> replay;  // nothing: every kernel is dispatched
  LoaderHabits loader;
};

// What of hwdb's StepErrors applies to a step: half widths of |ln(measured / predicted)| that hold
// 90 of 100 steps; copy times its share of it. By `host`, `loader` and `exchange` their seconds are
// multiplied and divided, and the step is priced again: one that is priced too fast to matter may
// matter. `files` widens upwards alone, the range of a step whose batches are read from files.
struct StepRange {
  double step = 0;
  double host = 0, loader = 0, copy = 0, exchange = 0, files = 0;
};

struct StepTimeInput {
  std::vector<CountedKernel> kernels;
  int64_t parameter_arrays = 0;
  // What one process that feeds several devices makes anew on each: arrays, modules, gradients.
  int64_t replicated = 0;
  int64_t input_bytes = 0;  // copied to the device in every step
  double samples = 0;       // of a batch, of all passes of a step
  StepHabits habits;
  StepRange errors;
  int64_t devices = 1;
  // Of a pipeline: what its stages wait for the first micro-batch and behind the last one
  // (parallel::bubble_of()), where the passes of the others take so many times as long as its own.
  parallel::Stage pipeline{};
  double other_stages = 1;
  Schedule schedule = Schedule::kOneForwardOneBackward;
  bool training = true;
  // Used where devices > 1.
  const ExchangeScheme* scheme = &exchange_schemes().front();
  std::vector<ExchangePoint> exchange;
  ExchangeByAxis axes;
};

// What a device works while the host dispatches it.
struct StepPart {
  double gpu = 0, host = 0;
};

struct StepTime {
  double seconds = 0, low = 0, high = 0;
  std::array<double, kStepPhaseCount> phase{};  // device seconds; they add up to `gpu`
  double gpu = 0;                               // device work, without exchange
  double host = 0;                              // dispatch of all launches
  // Both, one part after the other; the second is empty but where one process feeds several
  // devices: their forward passes, then what is behind these.
  std::array<StepPart, 2> parts;
  double communication = 0;  // what is not hidden behind other work
  double offload = 0;        // likewise, of copies to and from the host, and of its own work
  double bubble = 0;         // waiting for other stages of a pipeline
  double passes = 0;         // what the bubble is a part of: forward and backward, with their waits
  double weights = 0;        // of `passes`, the share that makes gradients of weights
  double slowdown = 1;       // of the device's work, by the host
  double input_copy = 0;
  double fixed = 0;          // the framework's own terms
  double load = 0;           // what of loading the next batch the step waits for
  double loading = 0;        // of all threads that load it
  bool host_bound = false;   // launches, own terms and loader take longer than the device's work
  bool input_bound = false;  // loader and copy take longer than all else
  double gpu_busy = 0;       // gpu / seconds
  std::vector<KernelTime> kernels;  // one per input kernel, of a single launch
};

// Of the peak of what binds it, the share that a launch of so many seconds reaches.
double share_of_peak(const KernelTime& time, double seconds);

// Seconds of one launch within a step: by the framework's habit and at the clock that the card
// sustains, but no faster than its work at the card's highest rates.
double in_step(const KernelTime& time, const StepHabits& habits, const DeviceRates& rates);

// Cost: kernel_time per row.
StepTime step_time(const StepTimeInput& input, const TimeContext& context);

// A step whose kernels are priced elsewhere, and added one by one.
class StepSum {
 public:
  // Both outlive it.
  StepSum(const StepHabits& habits, const DeviceRates& rates) : habits_(&habits), rates_(&rates) {}
  void add(const KernelAt& kernel, const Launches& launches, const KernelTime& time);
  // `around`: all of the step but its kernels, with the same habits.
  StepTime finish(const StepTimeInput& around) const;

 private:
  const StepHabits* habits_;
  const DeviceRates* rates_;
  // A sweep adds what steps share in an order of its own, and must say what an estimate does.
  std::array<OrderlessSum, kStepPhaseCount> phase_;
  std::vector<OrderlessSum> stretches_;  // between exchange points
  OrderlessSum gpu_, host_;
  OrderlessSum forward_;  // seconds of dispatch
  OrderlessSum low_, high_, low_squares_, high_squares_;
};

}  // namespace plimsoll
