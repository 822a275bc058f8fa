#include "estimator/plan/batch_memory.h"

#include <algorithm>

namespace plimsoll {

BatchMemory::BatchMemory(const Request& request, const Evaluator& evaluator, CompiledModel model,
                         double confidence, std::string vary)
    : request_(request), vary_(std::move(vary)), evaluator_(evaluator), confidence_(confidence) {
  models_.emplace_back(std::move(model));
}

Request BatchMemory::request_of(int64_t size) const {
  Request request = request_;
  if (vary_ == "batch") {
    request.batch = size;
  } else if (vary_ == "image") {
    request.image = size;
  } else {
    request.dims[vary_] = size;
  }
  return request;
}

Result<BatchMemory::Searched*> BatchMemory::at_batch(int64_t batch) {
  Binding binding = models_.front().model.binding;
  binding[models_.front().model.batch_symbol] = batch;
  const auto found = std::ranges::find_if(
      models_, [&](const Searched& s) { return guards_hold(s.model.step, binding); });
  Searched* searched = found == models_.end() ? nullptr : &*found;
  if (!searched) {
    auto compiled = compile(request_of(batch), evaluator_.platform());
    if (!compiled) return tl::make_unexpected(compiled.error());
    searched = &models_.emplace_back(std::move(*compiled));
  }
  searched->model.binding = std::move(binding);
  return searched;
}

// A table of positions or a flattened image allows some sizes alone, and only compiling knows.
Result<BatchMemory::Searched*> BatchMemory::at_size(int64_t size) {
  if (size_ != size) {
    auto compiled = compile(request_of(size), evaluator_.platform());
    if (!compiled) return tl::make_unexpected(compiled.error());
    models_.clear();
    models_.emplace_back(std::move(*compiled));
    size_ = size;
  }
  return &models_.front();
}

Result<BatchPoint> BatchMemory::operator()(int64_t size) {
  const auto here = at(size);
  if (!here) return tl::make_unexpected(here.error());
  const CompiledModel& model = (*here)->model;
  const auto plan = evaluator_.device(model, (*here)->step, model.binding);
  if (!plan) return tl::make_unexpected(plan.error());
  const DeviceMemory& memory = plan->memory;
  const Range range = at_confidence({memory.low, memory.high}, memory.device_bytes, confidence_);
  return BatchPoint{size, memory.device_bytes, range.low, range.high};
}

Result<Estimate> BatchMemory::estimate(int64_t size) {
  const auto here = at(size);
  if (!here) return tl::make_unexpected(here.error());
  return evaluator_.estimate((*here)->model, (*here)->model.binding);
}

Result<void> BatchMemory::takes(int64_t size) {
  const auto here = at(size);
  if (!here) return tl::make_unexpected(here.error());
  return {};
}

}  // namespace plimsoll
