// time_plan: what a step's launches cost on a platform, kernel by kernel, and the step made of
// them.
#pragma once

#include <optional>
#include <vector>

#include "estimator/behaviour/dispatch.h"
#include "estimator/library/kernel_time.h"
#include "estimator/model/compiled_model.h"
#include "estimator/step/bound_step.h"
#include "estimator/time/kernel_price.h"
#include "estimator/time/time_estimate.h"

namespace plimsoll {

// A step at a point, and all that its time depends on.
struct TimeQuestion {
  const CompiledModel& model;
  const BoundStep& bound;  // the model's step at `binding`
  const Binding& binding;
  const Platform& platform;
  const DispatchBehaviour& dispatch;
  const TimeContext& context;
  const ProgramRequest& program;
  bool lanes = false;  // fill TimeEstimate::lanes
};

// flop/s of the fastest unit that one of the step's kernels multiplies on, at the card's highest
// clock: none does its work faster. 0: not known.
double highest_flops(const BoundStep& bound, const DeviceRates& rates);

// Whether all its times fit 64 bits of nanoseconds, 292 years.
bool countable(const TimeEstimate& time);

// Of all samples in turn; nothing where nobody says how many there are, or where nanoseconds do not
// count so far: what nobody asked for is no fault. A forward pass alone is no part of an epoch.
std::optional<double> epoch_seconds(const CompiledModel& model, const ProgramRequest& program,
                                    double whole_batch, double step_seconds);

// Fills in the whole of `time`; what a launch of each kernel costs, by KernelId.
std::vector<KernelPrice> plan_time(const TimeQuestion& of, TimeEstimate& time);

}  // namespace plimsoll
