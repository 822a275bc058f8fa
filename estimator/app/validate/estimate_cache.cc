#include "estimator/app/validate/estimate_cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/pipeline.h"
#include "estimator/request/find_platform.h"
#include "graph/train/language_head.h"

namespace plimsoll {
namespace {

using Reason = tl::unexpected<std::string>;

constexpr size_t kMostEvents = 400'000;  // of models that are kept

template <class T>
tl::expected<T, std::string> or_reason(Result<T> result) {
  if (!result) return Reason(result.error().front().message);
  return std::move(*result);
}

// Without what an Evaluator leaves to the model.
Request priced_alike(Request request) {
  request.model.clear();
  request.batch.reset();
  request.image.reset();
  request.dims.clear();
  request.settings.clear();
  return request;
}

int64_t bytes_of_outputs(const CompiledModel& model, const Binding& binding) {
  if (!model.recipe.keeps_outputs || loss_runs_head(model.recipe)) return 0;
  int64_t bytes = 0;
  for (const TensorId id : model.graph.outputs) {
    const Tensor& t = model.graph.tensors[id];
    if (t.shape) bytes += elements(*t.shape).evaluate(binding).value_or(0) * bits(t.dtype) / 8;
  }
  return bytes;
}

}  // namespace

tl::expected<const Evaluator*, std::string> EstimateCache::evaluator_for(const Request& request) {
  Request shared = priced_alike(request);
  auto known = std::ranges::find(
      evaluators_, shared, [](const auto& e) -> auto& { return e.first; });
  if (known == evaluators_.end())
    known = evaluators_.emplace(evaluators_.begin(), std::move(shared), make_evaluator(request));
  const auto& evaluator = known->second;
  if (!evaluator) return Reason(evaluator.error());
  return &*evaluator;
}

tl::expected<Evaluator, std::string> EstimateCache::make_evaluator(const Request& request) const {
  auto platform = find_platform(hwdb_, request, request.devices.front());
  if (!platform) return Reason(platform.error().front().message);
  return or_reason(Evaluator::make(std::move(*platform), request));
}

// An image size is a dimension of the model, or a parameter that decides its structure.
tl::expected<ModelCache::Entry*, std::string> EstimateCache::compiled_for(
    const Request& request, const AutogradBehaviour& behaviour) {
  if (models_.events() > kMostEvents) models_.clear();
  const auto& [recipe, policy] = behaviour;
  ModelRequest model = request;
  model.batch.reset();
  const Binding sizes = {{"batch", *request.batch}};
  auto entry = models_.at(model, recipe, policy, sizes);
  if (entry || !request.image) return or_reason(std::move(entry));
  model.image.reset();
  model.settings["image"] = fmt::format("{}", *request.image);
  auto shaped = models_.at(model, recipe, policy, sizes);
  return or_reason(shaped ? std::move(shaped) : std::move(entry));
}

tl::expected<Answer, std::string> EstimateCache::answer(const Request& request) {
  const auto plan = plan_on(request.parallel, request.gpu_count);
  if (!plan || request.given.contains("rank")) return answer_at_rank(request);
  Request at = request;
  std::optional<Answer> worst;
  StageWaits waits;
  for (const int64_t rank : ranks_of_stages(plan->mesh)) {
    at.parallel.rank = rank;
    auto one = answer_at_rank(at);
    if (!one) return one;
    waits.bubble_ns.push_back(one->time.bubble_ns);
    if (!worst) {
      worst = std::move(*one);
      continue;
    }
    if (one->time.step_ns > worst->time.step_ns) {
      worst->time = std::move(one->time);
      waits.slowest = waits.bubble_ns.size() - 1;
    }
    if (one->memory.device_bytes > worst->memory.device_bytes)
      worst->memory = std::move(one->memory);
    worst->fits = worst->fits && one->fits;
  }
  wait_for_others(waits.other_stages(plan->mesh.extent(Axis::kStage)), worst->time);
  return std::move(*worst);
}

tl::expected<Answer, std::string> EstimateCache::answer_at_rank(const Request& request) {
  const auto evaluator = evaluator_for(request);
  if (!evaluator) return Reason(evaluator.error());
  const auto entry = compiled_for(request, (*evaluator)->behaviour().autograd);
  if (!entry) return Reason(entry.error());
  const CompiledModel& model = (*entry)->model;
  const Binding binding = binding_at(model, {{"batch", *request.batch}});
  auto estimated = (*evaluator)->estimate(model, binding);
  if (!estimated) return Reason(estimated.error().front().message);
  return Answer{.memory = std::move(estimated->memory),
                .time = std::move(estimated->time),
                .fits = estimated->fits,
                .output_bytes = bytes_of_outputs(model, binding)};
}

}  // namespace plimsoll
