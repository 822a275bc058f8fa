// What a step's time depends on beside its kernels: the framework's host code, what is
// copied and exchanged, how far kernels measured elsewhere can be trusted.
#pragma once

#include <array>
#include <vector>

#include "estimator/behaviour/dispatch.h"
#include "estimator/model/compiled_model.h"
#include "estimator/step/bound_step.h"
#include "estimator/time/step_time.h"

namespace plimsoll {

struct KernelLaunches {
  KernelId kernel;
  Launches launches;
};

// The step's launches, alike ones counted. `adds_bias`: the operator that convolves launches the
// kernel of its bias too.
std::vector<KernelLaunches> count_launches(const Step& step, bool adds_bias);

// What --loader says, else converting where --workers says that there is one.
LoaderKind loader_of(const ProgramRequest& program);

// Which host the step is priced on and whether its loader is counted, in words.
std::string host_basis(const Platform& platform, const DispatchBehaviour& dispatch,
                       const ProgramRequest& program);

// Of a step whose kernels, bytes and errors are not filled in yet.
StepTimeInput step_conditions(const CompiledModel& model, const Platform& platform,
                              const DispatchBehaviour& dispatch, const ProgramRequest& program);

// What `gpus` of one machine have to exchange gradients with; `link` is null for one alone. Without
// the card's own memory.
ExchangeRates exchange_rates(const Link* link, int64_t gpus, const Host& host);

// Who takes part along each axis of the mesh, and over what.
ExchangeByAxis exchange_by_axis(const Platform& platform, const Mesh& mesh);

// What a step copies in and exchanges, at one point after another.
class StepBytes {
 public:
  explicit StepBytes(const CompiledModel& model);
  void fill_in(const BoundStep& bound, StepTimeInput& input) const;

 private:
  int64_t batches_;
  std::vector<BufferId> inputs_;
  std::vector<ExchangePoint> points_;
};

// Adds what the device waits for layers that work on the host, Meta::host_ns, to the step's fixed
// time. Seconds of the step.
double add_host_stages(const CompiledModel& model, const Binding& binding, const Platform& platform,
                       StepTimeInput& input);

// What most of a step's work was measured on.
class StepEvidence {
 public:
  void add(int64_t flop, int64_t count, Evidence evidence) {
    flop_[static_cast<size_t>(evidence)] += static_cast<double>(flop) * static_cast<double>(count);
  }
  // What half of the work or more has, or worse.
  Evidence of_most() const;

 private:
  std::array<double, 3> flop_{};
};

// What makes a step's time less certain than its kernels are.
StepRange step_errors(const CompiledModel& model, const Platform& platform,
                      const DispatchBehaviour& dispatch, const StepEvidence& evidence);

// By one process: of all devices that it feeds.
double samples_loaded(const CompiledModel& model, const Binding& binding, const Platform& platform);

// Of all devices, each of which takes a batch of its own, and all passes that a step accumulates.
double samples_per_step(const CompiledModel& model, const Binding& binding, int64_t devices);

// Samples, or what the model counts, of all devices together; 0 where the step takes no time.
double samples_per_second(const CompiledModel& model, const Binding& binding, int64_t devices,
                          double seconds);

// Saturates: what does not fit is an error of whoever shows it, see countable().
int64_t to_ns(double seconds);

}  // namespace plimsoll
