#include "estimator/plan/batch_memory.h"

#include <algorithm>

namespace plimsoll {

BatchMemory::BatchMemory(const Request& request, const Evaluator& evaluator, CompiledModel model,
                         double confidence)
    : request_(request), evaluator_(evaluator), confidence_(confidence) {
  models_.emplace_back(std::move(model));
}

Result<BatchPoint> BatchMemory::operator()(int64_t batch) {
  Binding binding = models_.front().model.binding;
  binding[models_.front().model.batch_symbol] = batch;
  auto at = std::ranges::find_if(
      models_, [&](const Searched& s) { return guards_hold(s.model.step, binding); });
  if (at == models_.end()) {
    request_.batch = batch;
    auto compiled = compile(request_, evaluator_.platform());
    if (!compiled) return tl::make_unexpected(compiled.error());
    at = models_.emplace(at, std::move(*compiled));
  }
  const auto plan = evaluator_.device(at->model, at->step, binding);
  if (!plan) return tl::make_unexpected(plan.error());
  const DeviceMemory& memory = plan->memory;
  const Range range = at_confidence({memory.low, memory.high}, memory.device_bytes, confidence_);
  return BatchPoint{batch, memory.device_bytes, range.low, range.high};
}

}  // namespace plimsoll
