#include "estimator/plan/batch_memory.h"

#include <algorithm>

namespace plimsoll {

BatchMemory::BatchMemory(const Request& request, const Evaluator& evaluator, CompiledModel model,
                         double confidence)
    : request_(request), evaluator_(evaluator), confidence_(confidence) {
  models_.emplace_back(std::move(model));
}

Binding BatchMemory::binding_of(int64_t batch) const {
  Binding binding = models_.front().model.binding;
  binding[models_.front().model.batch_symbol] = batch;
  return binding;
}

Result<BatchMemory::Searched*> BatchMemory::at(const Binding& binding) {
  const auto found = std::ranges::find_if(
      models_, [&](const Searched& s) { return guards_hold(s.model.step, binding); });
  if (found != models_.end()) return &*found;
  request_.batch = binding.at(models_.front().model.batch_symbol);
  auto compiled = compile(request_, evaluator_.platform());
  if (!compiled) return tl::make_unexpected(compiled.error());
  return &models_.emplace_back(std::move(*compiled));
}

Result<BatchPoint> BatchMemory::operator()(int64_t batch) {
  const Binding binding = binding_of(batch);
  auto searched = at(binding);
  if (!searched) return tl::make_unexpected(searched.error());
  const auto plan = evaluator_.device((*searched)->model, (*searched)->step, binding);
  if (!plan) return tl::make_unexpected(plan.error());
  const DeviceMemory& memory = plan->memory;
  const Range range = at_confidence({memory.low, memory.high}, memory.device_bytes, confidence_);
  return BatchPoint{batch, memory.device_bytes, range.low, range.high};
}

Result<Estimate> BatchMemory::estimate(int64_t batch) {
  const Binding binding = binding_of(batch);
  auto searched = at(binding);
  if (!searched) return tl::make_unexpected(searched.error());
  return evaluator_.estimate((*searched)->model, binding);
}

}  // namespace plimsoll
