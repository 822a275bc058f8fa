#include "estimator/evaluator.h"

#include <fmt/format.h>

#include "estimator/answer/assumptions.h"
#include "estimator/answer/basis.h"
#include "estimator/answer/detail.h"
#include "estimator/answer/layers.h"
#include "estimator/answer/on_host.h"
#include "estimator/answer/parallel.h"
#include "estimator/answer/platform_notes.h"
#include "estimator/library/conv_choice.h"
#include "estimator/memory/replay_input.h"
#include "estimator/model/evaluation_pass.h"
#include "estimator/model/model_source.h"
#include "estimator/model/valid_step.h"
#include "estimator/request/find_platform.h"
#include "estimator/served_pass.h"
#include "graph/base/try.h"

namespace plimsoll {

Result<CompiledModel> compile(const Request& request, const Platform& platform) {
  return compile(request, autograd_behaviour(platform, request, request.recipe));
}

Result<CompiledModel> compile(const Request& request, const AutogradBehaviour& behaviour) {
  auto model = TRY(load_model(request));
  return compile_with_evaluation(std::move(model), request, behaviour.recipe, behaviour.policy);
}

Evaluator::Evaluator(Platform platform, const Request& request, Behaviour behaviour,
                     TimeContext context)
    : platform_(std::move(platform)),
      request_(request),
      behaviour_(std::move(behaviour)),
      context_(std::move(context)),
      limits_(engine_limits(request_, platform_)) {}

Result<Evaluator> Evaluator::make(Platform platform, const Request& request) {
  Behaviour behaviour = resolve(platform, request);
  return make(std::move(platform), request, std::move(behaviour));
}

Result<Evaluator> Evaluator::make(Platform platform, const Request& request, Behaviour behaviour) {
  if (platform.device.is_host) return of_memory_alone();
  auto calibrations = TRY(Calibrations::open(platform.hwdb));
  ConvOffers offers{
      WorkspaceTableCache(platform.hwdb, platform.device, platform.cudnn, platform.asked),
      behaviour.library};
  TimeContext context(rates_of(platform.device), std::move(calibrations), behaviour.library.options,
                      std::make_shared<const ConvOffers>(std::move(offers)));
  platform.usable_bytes = engine_share(request, platform);
  return Evaluator(std::move(platform), request, std::move(behaviour), std::move(context));
}

namespace {

void set_rates(Estimate& e, const BoundStep& bound, const DeviceRates& rates) {
  const auto known = [](double rate) {
    return rate > 0 ? std::optional<double>(rate) : std::nullopt;
  };
  e.peak_flops = known(highest_flops(bound, rates));
  e.bandwidth_bytes_per_second = known(rates.bandwidth);
}

void set_device(Estimate& e, const Platform& platform) {
  e.device_id = platform.device.id;
  e.device_name = platform.device.name;
  e.device_memory_bytes = platform.memory_bytes;
  e.usable_bytes = platform.usable_bytes;
}

void set_workspaces(std::vector<KernelPrice>& prices, const WorkspacePlan& workspaces) {
  for (size_t id = 0; id < prices.size(); ++id)
    prices[id].workspace_bytes = workspaces.uses[id].bytes;
}

}  // namespace

tl::unexpected<Diagnostics> too_long(const Device& device) {
  return error("E232", fmt::format("on {} the step would take more than 292 years", device.id));
}

Result<OperatingPoint> Evaluator::point_of(const CompiledModel& model, const BoundStep& bound,
                                           const Binding& binding, const TimeContext& context,
                                           LastReplay* last) const {
  auto workspaces = TRY(plan_workspaces(bound, platform_.device, context));
  auto evaluation = TRY(evaluation_point(model, bound, binding, context));
  auto memory = TRY(plan_device({model, bound, binding, platform_, behaviour_, request_, workspaces,
                                 evaluation ? &*evaluation : nullptr},
                                request_.minimum, last));
  return OperatingPoint{std::move(workspaces), std::move(memory), std::move(evaluation)};
}

// Other frameworks than PyTorch run it in a network of its own.
Result<std::optional<EvaluationPoint>> Evaluator::evaluation_point(
    const CompiledModel& model, const BoundStep& step, const Binding& binding,
    const TimeContext& context) const {
  if (!model.evaluation || !behaviour_.allocator.python_names) return std::nullopt;
  Binding at = evaluation_at(model, binding);
  auto bound = TRY(bind_where_valid(*model.evaluation, at));
  auto workspaces = TRY(plan_workspaces(bound, platform_.device, context));
  return EvaluationPoint{model.evaluation.get(),
                         std::move(bound),
                         std::move(at),
                         std::move(workspaces),
                         model.recipe.evaluation.gathered,
                         gradients_left(model, step)};
}

Result<OperatingPoint> Evaluator::operating_point(const CompiledModel& model,
                                                  const BoundStep& bound, const Binding& binding,
                                                  LastReplay* last) const {
  auto point = point_of(model, bound, binding, context_, last);
  const auto fits = [&](const OperatingPoint& p) {
    return p.memory.device_bytes <= platform_.usable_bytes;
  };
  if (!point || fits(*point) || !point->workspaces.gives_way) return point;
  // The sizes that algorithms need, of which the largest is too large; 0 may be among them.
  const std::vector<int64_t> sizes = point->workspaces.offered;
  std::optional<OperatingPoint> best;
  size_t low = 0, high = sizes.size();
  while (low < high) {
    const size_t middle = best ? (low + high) / 2 : 0;
    auto tried = point_of(model, bound, binding, within(context_, sizes[middle]), nullptr);
    if (!tried) return tried;
    if (!fits(*tried)) {
      if (!best) return point;
      high = middle;
      continue;
    }
    best = std::move(*tried);
    best->workspaces.free_bytes = sizes[middle];
    low = middle + 1;
  }
  return best ? std::move(*best) : std::move(point);
}

TimeContext Evaluator::context(const OperatingPoint& point) const {
  const auto& free = point.workspaces.free_bytes;
  return free ? within(context_, *free) : context_.with(context_.options(), context_.offers());
}

Result<OperatingPoint> Evaluator::device(const CompiledModel& model, StepBinder& step,
                                         const Binding& binding, LastReplay* last) const {
  const Binding largest = largest_batch(model, binding);
  if (limits_) return operating_point(model, TRY(bind_pass(model, largest, *limits_)), largest);
  if (!guards_hold(model.step, largest)) return other_decisions(model, largest);
  const auto bound = step(largest);
  if (!bound) return too_large(model, largest, bound.error());
  return operating_point(model, **bound, largest, last);
}

Result<Estimate> Evaluator::estimate(const CompiledModel& model, const Binding& binding) const {
  auto bound = bind_where_valid(model, binding);
  if (!bound) return tl::make_unexpected(bound.error());
  Estimate e;
  const auto timed = [&](const TimeContext& context) {
    return plan_time({model, *bound, binding, platform_, behaviour_.dispatch, context, request_,
                      request_.trace || request_.detail},
                     e.time);
  };
  std::vector<KernelPrice> prices = timed(context_);
  if (!countable(e.time)) return too_long(platform_.device);
  const Binding largest = largest_batch(model, binding);
  auto longest = limits_ ? bind_pass(model, largest, *limits_) : bind_where_valid(model, largest);
  if (!longest) return tl::make_unexpected(longest.error());
  const auto point = TRY(operating_point(model, *longest, largest));
  const WorkspacePlan& workspaces = point.workspaces;
  if (workspaces.free_bytes) prices = timed(context(point));
  const int64_t granule = behaviour_.allocator.rounding;
  // A table is of one size: layers as time is, memory and what is beside it where it is read.
  const auto at_binding = TRY(
      largest == binding ? workspaces : plan_workspaces(*bound, platform_.device, context(point)));
  set_workspaces(prices, at_binding);
  e.layers = layers_of(model, *bound, binding, granule, prices);
  bound = std::move(longest);
  set_workspaces(prices, workspaces);
  e.memory = point.memory;
  plan_memory({model, *bound, largest, platform_, behaviour_, request_, workspaces,
               point.evaluation ? &*point.evaluation : nullptr},
              e.memory);
  e.input = model.facts;
  e.input.batch = batch_at(model, binding);
  e.input.symbols = binding;
  e.parallel = parallel_answer(model, request_.given.contains("rank"));
  set_device(e, platform_);
  set_rates(e, *bound, context_.rates());
  e.fits = e.memory.device_bytes <= e.usable_bytes;
  e.kept = kept_of(model, *bound, granule);
  if (request_.trace || request_.detail) {
    const auto storages = storages_of(model, *bound, behaviour_.allocator);
    if (request_.trace) e.trace = trace_of(model, *bound, prices, granule, storages);
    if (request_.detail) add_detail(e, model, *bound, prices, granule, storages);
  }
  e.recognised = model.recognised;
  e.precision = model.recipe.precision;
  e.request = request_;
  const AnswerParts parts{request_, platform_, model, binding, largest, *bound, workspaces, prices};
  e.assumed = assumptions_of({request_, platform_, model}, e.input);
  e.basis = basis_of(parts, e);
  e.diagnostics = diagnostics_of(parts, e);
  return e;
}

namespace {

// A request's model at its sizes, and what prices it.
struct Evaluable {
  ModelCache::Entry* entry;
  Evaluator evaluator;
  Binding binding;
};

Result<Evaluable> evaluable_of(const Request& request, Platform platform, Behaviour behaviour,
                               ModelCache& models) {
  const auto& [recipe, policy] = behaviour.autograd;
  const Binding sizes = sizes_of(request);
  const auto entry = TRY(models.at(of_any_size(request), recipe, policy, sizes));
  auto evaluator = TRY(Evaluator::make(std::move(platform), request, std::move(behaviour)));
  return Evaluable{entry, std::move(evaluator), binding_at(entry->model, sizes)};
}

Result<Platform> first_platform(const Request& request, const Hwdb& hwdb) {
  return find_platform(hwdb, request, request.devices.empty() ? "" : request.devices.front());
}

}  // namespace

Result<Estimate> estimate_once(const Request& request, const Hwdb& hwdb, ModelCache* models) {
  auto platform = TRY(first_platform(request, hwdb));
  Behaviour behaviour = resolve(platform, request);
  if (models && !platform.device.is_host) {
    const auto at = TRY(evaluable_of(request, std::move(platform), std::move(behaviour), *models));
    return at.evaluator.estimate(at.entry->model, at.binding);
  }
  const auto model = TRY(compile(request, behaviour.autograd));
  if (platform.device.is_host) return estimate_on_host(model, platform, behaviour, request);
  const auto evaluator = TRY(Evaluator::make(std::move(platform), request, std::move(behaviour)));
  return evaluator.estimate(model, model.binding);
}

Result<MemoryEstimate> memory_once(const Request& request, const Hwdb& hwdb, ModelCache& models) {
  auto platform = TRY(first_platform(request, hwdb));
  if (platform.device.is_host) return of_memory_alone();
  Behaviour behaviour = resolve(platform, request);
  const auto at = TRY(evaluable_of(request, std::move(platform), std::move(behaviour), models));
  auto point = TRY(at.evaluator.device(at.entry->model, at.entry->step(), at.binding));
  return std::move(point.memory);
}

}  // namespace plimsoll
