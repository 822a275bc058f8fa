#include "estimator/estimator.h"

#include "estimator/answer/mean.h"
#include "estimator/answer/platform_notes.h"
#include "estimator/busiest_expert.h"
#include "estimator/evaluator.h"
#include "estimator/pipeline.h"
#include "estimator/request/lengths.h"
#include "estimator/serving.h"
#include "graph/ops/routing.h"

namespace plimsoll {
namespace {

Result<Estimate> estimate_mean(const Request& request, const Hwdb& hwdb, ModelCache* models) {
  std::vector<Estimate> estimates;
  for (const LengthBucket& bucket : request.lengths) {
    auto one = estimate_stages(at_bucket(request, bucket), hwdb, models);
    if (!one) return one;
    estimates.push_back(std::move(*one));
  }
  return mean_over(std::move(estimates), request.lengths);
}

Result<Estimate> estimate_all_lengths(const Request& request, const Hwdb& hwdb,
                                      ModelCache* models) {
  auto answer = request.recipe.serve      ? estimate_serving(request, hwdb)
                : request.lengths.empty() ? estimate_stages(request, hwdb, models)
                                          : estimate_mean(request, hwdb, models);
  if (!answer) return answer;
  if (request.longest.empty() && request.lengths.empty()) {
    const bool routed = answer->input.symbols.contains(ops::kBusiestExpert) &&
                        !request.dims.contains(ops::kBusiestExpert);
    if (routed) return with_all_to_one_expert(std::move(*answer), request, hwdb, models);
    return answer;
  }
  // The longest batch may take other decisions than the usual one: a step of its own.
  auto longest = estimate_stages(at_longest(request), hwdb, models);
  if (!longest) return longest;
  if (longest->input.symbols != answer->input.symbols)
    answer->basis.push_back(largest_batch_note(longest->input.symbols, answer->input.symbols));
  answer->memory = std::move(longest->memory);
  answer->fits = longest->fits;
  answer->kept = std::move(longest->kept);
  answer->memory_curve = std::move(longest->memory_curve);
  answer->peak_tensors = std::move(longest->peak_tensors);
  return answer;
}

}  // namespace

Result<Estimate> estimate(const Request& request, const Hwdb& hwdb, ModelCache* models) {
  auto answer = estimate_all_lengths(request, hwdb, models);
  if (!answer) return answer;
  answer->request = request;  // of a bucket or of the longest until here
  if (!request.batch && answer->input.batch > 0) answer->request.batch = answer->input.batch;
  return answer;
}

}  // namespace plimsoll
