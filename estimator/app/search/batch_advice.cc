#include "estimator/app/search/batch_advice.h"

#include <vector>

#include "estimator/app/search/advice.h"
#include "estimator/app/search/changes.h"
#include "estimator/estimator.h"

namespace plimsoll {

void advise_batches(const Request& original, const Hwdb& hwdb, LargestBatch& largest) {
  if (largest.answer.safe > 0 || largest.vary != "batch") return;
  if (original.recipe.mode != Mode::kTrain || shares_training(original)) return;
  Request request = original;
  request.batch = largest.search.multiple;
  request.trace = request.detail = request.minimum = false;
  ModelCache models;
  const auto today = estimate(request, hwdb, &models);
  if (!today || today->on_host) return;
  largest.notes.basis = today->basis;
  largest.notes.assumed = today->assumed;
  std::erase_if(largest.notes.assumed, [](const Assumption& a) { return a.setting == "batch"; });
  BatchSearch search = largest.search;
  search.rounds = 0;
  search.parts = false;
  Trials trials(hwdb, *today, models);
  for (const Stack& stack : changed_stacks(request, hwdb, *today, trials)) {
    BatchRemedy remedy{stack.remedy};
    if (stack.remedy.verdict == Verdict::kFits) {
      const auto with_it = largest_batch(stack.request, hwdb, search);
      if (with_it) remedy.safe = with_it->answer.safe;
    }
    largest.advice.push_back(std::move(remedy));
  }
}

}  // namespace plimsoll
