// BatchMemory: what a training step needs at one batch after another, for max_batch().
//
//   BatchMemory memory(request, *evaluator, std::move(*model));
//   auto answer = max_batch(std::ref(memory), {.capacity = bytes});
#pragma once

#include "estimator/compiled_model.h"
#include "estimator/estimator.h"
#include "estimator/plan/max_batch.h"

namespace plimsoll {

class BatchMemory {
 public:
  // `model` is compiled from `request`; `evaluator` outlives this.
  BatchMemory(const Request& request, const Evaluator& evaluator, CompiledModel model)
      : request_(request), evaluator_(evaluator), model_(std::move(model)) {}

  // compile()'s and Evaluator::memory()'s diagnostics. Cost: a replay of the allocator; where the
  // model takes other decisions at this batch, it is compiled again.
  Result<BatchPoint> operator()(int64_t batch);
  // As it was compiled last.
  const CompiledModel& model() const { return model_; }

 private:
  Request request_;
  const Evaluator& evaluator_;
  CompiledModel model_;
};

}  // namespace plimsoll
