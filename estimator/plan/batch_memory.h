// BatchMemory: what a training step needs at one batch after another, for max_batch().
//
//   BatchMemory memory(request, *evaluator, std::move(*model));
//   auto answer = max_batch(std::ref(memory), {.capacity = bytes});
#pragma once

#include <list>
#include <utility>

#include "estimator/estimator.h"
#include "estimator/memory/confidence.h"
#include "estimator/model/compiled_model.h"
#include "estimator/plan/max_batch.h"

namespace plimsoll {

class BatchMemory {
 public:
  // `model` is compiled from `request`; `evaluator` outlives this. The points' ranges hold at
  // `confidence`.
  BatchMemory(const Request& request, const Evaluator& evaluator, CompiledModel model,
              double confidence = kUsualConfidence);

  // compile()'s and Evaluator::device()'s diagnostics. Cost: a replay of the allocator; where the
  // model takes decisions at this batch that it took at none before, it is compiled again.
  Result<BatchPoint> operator()(int64_t batch);
  // The whole estimate at a batch, with its time.
  Result<Estimate> estimate(int64_t batch);

 private:
  struct Searched {
    explicit Searched(CompiledModel compiled) : model(std::move(compiled)), step(model.step) {}
    CompiledModel model;
    StepBinder step;
  };

  // A model whose decisions hold at this binding.
  Result<Searched*> at(const Binding& binding);
  Binding binding_of(int64_t batch) const;

  Request request_;
  const Evaluator& evaluator_;
  double confidence_;
  std::list<Searched> models_;  // one for each set of decisions
};

}  // namespace plimsoll
