// BatchMemory: what a training step needs at one batch after another, or one length of sequences or
// size of images, for max_batch().
//
//   BatchMemory memory(request, *evaluator, std::move(*model));
//   auto answer = max_batch(std::ref(memory), {.capacity = bytes});
#pragma once

#include <list>
#include <string>
#include <utility>

#include "estimator/estimator.h"
#include "estimator/memory/confidence.h"
#include "estimator/model/compiled_model.h"
#include "estimator/plan/max_batch.h"

namespace plimsoll {

class BatchMemory {
 public:
  // `model` is compiled from `request`; `evaluator` outlives this. The points' ranges hold at
  // `confidence`. `vary`: "batch", "image", or a dimension of the model.
  BatchMemory(const Request& request, const Evaluator& evaluator, CompiledModel model,
              double confidence = kUsualConfidence, std::string vary = "batch");

  // compile()'s and Evaluator::device()'s diagnostics. Cost: a replay of the allocator; where the
  // model takes decisions at this batch that it took at none before, it is compiled again.
  Result<BatchPoint> operator()(int64_t size);
  // The whole estimate at a size, with its time.
  Result<Estimate> estimate(int64_t size);
  // Why the model does not take a size, as sequences longer than its table of positions; nothing
  // where it does.
  Result<void> takes(int64_t size);

 private:
  struct Searched {
    explicit Searched(CompiledModel compiled) : model(std::move(compiled)), step(model.step) {}
    CompiledModel model;
    StepBinder step;
  };

  // A model at a size, its binding that of the size.
  Result<Searched*> at(int64_t size) { return vary_ == "batch" ? at_batch(size) : at_size(size); }
  Result<Searched*> at_batch(int64_t batch);
  Result<Searched*> at_size(int64_t size);
  Request request_of(int64_t size) const;

  Request request_;
  std::string vary_;
  const Evaluator& evaluator_;
  double confidence_;
  std::list<Searched> models_;  // of batches one for each set of decisions, else the last size's
  int64_t size_ = 0;            // that; 0: the request's own
};

}  // namespace plimsoll
