#include "estimator/batch_memory.h"

#include <algorithm>

#include "graph/substitution.h"

namespace plimsoll {
namespace {

CompiledModel of_batch_alone(CompiledModel model) {
  Binding fixed = model.binding;
  fixed.erase(model.batch_symbol);
  // These have two values: see Evaluator::memory().
  for (const auto& [symbol, size] : model.longest) fixed.erase(symbol);
  model.step = substitute(std::move(model.step), fixed);
  return model;
}

}  // namespace

BatchMemory::BatchMemory(const Request& request, const Evaluator& evaluator, CompiledModel model,
                         double confidence)
    : request_(request), evaluator_(evaluator), confidence_(confidence) {
  models_.push_back(of_batch_alone(std::move(model)));
}

Result<BatchPoint> BatchMemory::operator()(int64_t batch) {
  Binding binding = models_.front().binding;
  binding[models_.front().batch_symbol] = batch;
  auto model = std::ranges::find_if(
      models_, [&](const CompiledModel& m) { return guards_hold(m.step, binding); });
  if (model == models_.end()) {
    request_.batch = batch;
    auto compiled = compile(request_, evaluator_.platform());
    if (!compiled) return tl::make_unexpected(compiled.error());
    model = models_.insert(model, of_batch_alone(std::move(*compiled)));
  }
  auto memory = evaluator_.memory(*model, binding);
  if (!memory) return tl::make_unexpected(memory.error());
  const Range range = at_confidence(memory->device_range, memory->device_bytes, confidence_);
  // Where memory is short the allocator frees what it keeps, and a step may run as long as its
  // tensors fit beside the context: on an H100 33 batches of eight networks ran or failed so.
  const int64_t tensors = memory->context_bytes + memory->allocated_peak_bytes;
  return BatchPoint{batch, memory->device_bytes, std::min(range.low, tensors), range.high};
}

}  // namespace plimsoll
