// BatchMemory: what a training step needs at one batch after another, or one length of sequences or
// size of images, for max_batch().
//
//   BatchMemory memory(request, *evaluator);
//   auto answer = max_batch(std::ref(memory), {.capacity = bytes});
#pragma once

#include <string>

#include "estimator/app/search/max_batch.h"
#include "estimator/estimator.h"
#include "estimator/memory/confidence.h"
#include "estimator/model/model_cache.h"

namespace plimsoll {

// `vary`: "batch", "image", or a dimension of the model.
Request at_size(Request request, const std::string& vary, int64_t size);

class BatchMemory {
 public:
  // `evaluator` outlives this. The points' ranges hold at `confidence`. `vary`: of at_size().
  // `models`: of others that compile the same ones; null: its own.
  BatchMemory(const Request& request, const Evaluator& evaluator,
              double confidence = kUsualConfidence, std::string vary = "batch",
              ModelCache* models = nullptr);

  // compile()'s and Evaluator::device()'s diagnostics. Cost: a replay of the allocator; where the
  // model takes decisions at this batch that it took at none before, it is compiled again.
  Result<BatchPoint> operator()(int64_t size);
  // The whole estimate at a size, with its time.
  Result<Estimate> estimate(int64_t size);
  // The model as it is at a size, or why it does not take it, as sequences longer than its table of
  // positions. Good until the next call.
  Result<const CompiledModel*> model(int64_t size);

 private:
  struct Place {
    ModelCache::Entry* entry;
    Binding binding;
  };
  Result<Place> at(int64_t size);

  Request request_;
  std::string vary_;
  const Evaluator& evaluator_;
  double confidence_;
  ModelCache local_models_;
  ModelCache& models_;
};

}  // namespace plimsoll
