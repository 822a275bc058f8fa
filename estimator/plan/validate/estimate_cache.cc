#include "estimator/plan/validate/estimate_cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/request/find_platform.h"
#include "estimator/request/policy.h"

namespace plimsoll {
namespace {

using Reason = tl::unexpected<std::string>;

// Of models that are kept: some 300 bytes each, with all that belongs to them.
constexpr size_t kMostEvents = 400'000;

// Without what an Evaluator leaves to the model.
Request priced_alike(Request request) {
  request.model.clear();
  request.batch.reset();
  request.image.reset();
  request.dims.clear();
  request.settings.clear();
  return request;
}

// Without what acts on a compiled model through its policy alone.
Request compiled_alike(Request request) {
  request.devices.clear();
  request.batch.reset();
  request.gpu_count = 1;
  request.link.clear();
  request.host.clear();
  request.cpu.clear();
  request.cudnn.reset();
  request.cuda.reset();
  return request;
}

// An image size is a dimension of the model, or a parameter that decides its structure.
Result<CompiledModel> compile_at(const Request& request, const Platform& platform) {
  auto model = compile(request, platform);
  if (model || !request.image) return model;
  Request other = request;
  other.image.reset();
  other.settings["image"] = fmt::format("{}", *request.image);
  auto again = compile(other, platform);
  return again ? std::move(again) : std::move(model);
}

}  // namespace

tl::expected<Answer, std::string> EstimateCache::answer(const Request& request) {
  if (const auto* known = answers_.find(request)) return *known;
  return answers_.add(request, estimate(request));
}

tl::expected<const Evaluator*, std::string> EstimateCache::evaluator_for(const Request& request) {
  const Request shared = priced_alike(request);
  auto* known = evaluators_.find(shared);
  if (!known) known = &evaluators_.add(shared, make_evaluator(request));
  if (!*known) return Reason(known->error());
  return &**known;
}

tl::expected<Evaluator, std::string> EstimateCache::make_evaluator(const Request& request) const {
  auto platform = find_platform(hwdb_, request, request.devices.front());
  if (!platform) return Reason(platform.error().front().message);
  auto evaluator = Evaluator::make(std::move(*platform), request);
  if (!evaluator) return Reason(evaluator.error().front().message);
  return std::move(*evaluator);
}

tl::expected<Answer, std::string> EstimateCache::estimate(const Request& request) {
  const auto evaluator = evaluator_for(request);
  if (!evaluator) return Reason(evaluator.error());
  const Platform& platform = (*evaluator)->platform();
  const Policy policy = policy_for(platform, request);
  const Request shared = compiled_alike(request);
  if (events_ > kMostEvents) {
    models_.clear();
    events_ = 0;
  }
  auto* models = models_.find(shared);
  if (!models) models = &models_.add(shared, {});
  Binding binding;
  auto found = std::ranges::find_if(*models, [&](const Compiled& known) {
    if (known.policy != policy) return false;
    binding = known.model.binding;
    binding[known.model.batch_symbol] = *request.batch;
    return guards_hold(known.model.step, binding);
  });
  if (found == models->end()) {
    auto model = compile_at(request, platform);
    if (!model) return Reason(model.error().front().message);
    models->push_front({policy, std::move(*model)});
    found = models->begin();
    events_ += found->model.step.events.size();
    binding = found->model.binding;
  }
  auto estimated = (*evaluator)->estimate(found->model, binding);
  if (!estimated) return Reason(estimated.error().front().message);
  return Answer{.memory = std::move(estimated->memory),
                .time = std::move(estimated->time),
                .fits = estimated->fits};
}

}  // namespace plimsoll
