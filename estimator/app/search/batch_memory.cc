#include "estimator/app/search/batch_memory.h"

#include "graph/base/try.h"

namespace plimsoll {

Request at_size(Request request, const std::string& vary, int64_t size) {
  if (vary == "batch") {
    request.batch = size;
  } else if (vary == "image") {
    request.image = size;
  } else {
    request.dims[vary] = size;
  }
  return request;
}

BatchMemory::BatchMemory(const Request& request, const Evaluator& evaluator, double confidence,
                         std::string vary, ModelCache* models)
    : request_(request),
      vary_(std::move(vary)),
      evaluator_(evaluator),
      confidence_(confidence),
      models_(models ? *models : local_models_) {}

Result<BatchMemory::Place> BatchMemory::at(int64_t size) {
  ModelRequest request = request_;
  Binding sizes;
  if (vary_ == "batch") {
    request = of_any_size(request);
    sizes = sizes_of(request_);
    sizes["batch"] = size;
  } else if (vary_ == "image") {
    request.image = size;
  } else {
    // A table of positions allows some lengths alone, and only compiling knows which.
    request.dims[vary_] = size;
  }
  constexpr size_t kMostEvents = 1'000'000;
  if (models_.events() > kMostEvents) models_.clear();
  const AutogradBehaviour& compiling = evaluator_.behaviour().autograd;
  const auto entry = TRY(models_.at(request, compiling.recipe, compiling.policy, sizes));
  return Place{entry, binding_at(entry->model, sizes)};
}

Result<BatchPoint> BatchMemory::operator()(int64_t size) {
  const auto here = TRY(at(size));
  const auto plan = TRY(evaluator_.device(here.entry->model, here.entry->step(), here.binding));
  const int64_t bytes = plan.memory.device_bytes;
  const Range range = at_confidence(plan.memory.device_range, bytes, confidence_);
  return BatchPoint{size, bytes, range.low, range.high};
}

Result<Estimate> BatchMemory::estimate(int64_t size) {
  const auto here = TRY(at(size));
  return evaluator_.estimate(here.entry->model, here.binding);
}

Result<const CompiledModel*> BatchMemory::model(int64_t size) {
  const auto here = TRY(at(size));
  return &here.entry->model;
}

}  // namespace plimsoll
