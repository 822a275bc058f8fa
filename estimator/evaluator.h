// A step priced at a point. compile() thinks once per model, recipe, framework and kind of device;
// an Evaluator prices at a point and may be used from many threads.
#pragma once

#include "estimator/answer/estimate.h"
#include "estimator/behaviour/behaviour.h"
#include "estimator/kernels/time_context.h"
#include "estimator/library/workspace_plan.h"
#include "estimator/memory/memory_plan.h"
#include "estimator/model/compiled_model.h"
#include "estimator/model/model_cache.h"
#include "estimator/request/platform.h"
#include "estimator/request/request.h"
#include "estimator/settings/engines.h"
#include "estimator/time/time_plan.h"

namespace plimsoll {

// The request's model, loaded and compiled with its recipe as the platform's framework would run
// it.
Result<CompiledModel> compile(const Request& request, const Platform& platform);
Result<CompiledModel> compile(const Request& request, const AutogradBehaviour& behaviour);

// E232 for a step whose nanoseconds do not fit 64 bits.
tl::unexpected<Diagnostics> too_long(const Device& device);

// How a step runs on a card: with the algorithms that the framework ends up with there. Scratch
// memory that is not there is not taken (LibraryBehaviour::gives_way), so that memory and time are
// those of one run. Where not even the least fits there is no such run: the card is then no limit.
struct OperatingPoint {
  WorkspacePlan workspaces;
  MemoryEstimate memory;  // of plan_device()
  std::optional<EvaluationPoint> evaluation{};
};

// Prices compiled models on one platform. What is prepared once, calibrations among it, is prepared
// here; immutable afterwards.
class Evaluator {
 public:
  // E116 for the host as a device.
  static Result<Evaluator> make(Platform platform, const Request& request);
  // `behaviour`: of the same two.
  static Result<Evaluator> make(Platform platform, const Request& request, Behaviour behaviour);

  const Platform& platform() const { return platform_; }
  const Request& request() const { return request_; }
  // Of the platform's framework with the request: what models are compiled by is among it.
  const Behaviour& behaviour() const { return behaviour_; }
  const TimeContext& context() const { return context_; }
  // At a binding where the model's guards hold; E903 where they do not: compile there.
  Result<Estimate> estimate(const CompiledModel& model, const Binding& binding) const;
  // What the device needs alone, for searches, whose points share a binder of the model's step, and
  // whose devices may share a replay: of one model at one point, framework and allocator being one.
  Result<OperatingPoint> device(const CompiledModel& model, StepBinder& step,
                                const Binding& binding, LastReplay* last = nullptr) const;
  // `bound`: the model's step at `binding`. Cost: a replay; some six more where memory is short.
  Result<OperatingPoint> operating_point(const CompiledModel& model, const BoundStep& bound,
                                         const Binding& binding, LastReplay* last = nullptr) const;
  // What kernels take there; of this evaluator where no memory is short.
  TimeContext context(const OperatingPoint& point) const;

 private:
  Evaluator(Platform platform, const Request& request, Behaviour behaviour, TimeContext context);
  Result<OperatingPoint> point_of(const CompiledModel& model, const BoundStep& bound,
                                  const Binding& binding, const TimeContext& context,
                                  LastReplay* last) const;
  // Nothing where nothing is run between steps, or the framework is another than PyTorch.
  Result<std::optional<EvaluationPoint>> evaluation_point(const CompiledModel& model,
                                                          const BoundStep& step,
                                                          const Binding& binding,
                                                          const TimeContext& context) const;

  Platform platform_;
  Request request_;
  Behaviour behaviour_;
  TimeContext context_;
  std::optional<EngineLimits> limits_;  // of an engine that serves: memory is that of its pass
};

// One step at one point of request.devices[0]: no lengths, no serving. `models`: those compiled so
// far, for who asks often; of no other contents than the files have now.
Result<Estimate> estimate_once(const Request& request, const Hwdb& hwdb,
                               ModelCache* models = nullptr);

// What the device needs for such a step, without its time. E116 for the host.
Result<MemoryEstimate> memory_once(const Request& request, const Hwdb& hwdb, ModelCache& models);

}  // namespace plimsoll
