#include "estimator/batch_memory.h"

namespace plimsoll {

Result<BatchPoint> BatchMemory::operator()(int64_t batch) {
  Binding binding = model_.binding;
  binding[model_.batch_symbol] = batch;
  if (!guards_hold(model_.step, binding)) {
    request_.batch = batch;
    auto again = compile(request_, evaluator_.platform());
    if (!again) return tl::make_unexpected(again.error());
    model_ = std::move(*again);
  }
  auto memory = evaluator_.memory(model_, binding);
  if (!memory) return tl::make_unexpected(memory.error());
  return BatchPoint{batch, memory->device_bytes, memory->device_range.low,
                    memory->device_range.high};
}

}  // namespace plimsoll
