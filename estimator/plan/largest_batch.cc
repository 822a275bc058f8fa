#include "estimator/plan/largest_batch.h"

#include <algorithm>
#include <functional>
#include <set>

#include "estimator/estimator.h"
#include "estimator/plan/batch_memory.h"
#include "estimator/request/find_platform.h"
#include "estimator/request/lengths.h"

namespace plimsoll {
namespace {

// Round multiples of `multiple` from the largest down, and the safe batch.
std::set<int64_t> round_batches(const MaxBatchAnswer& answer, const BatchSearch& search) {
  std::vector<int64_t> rounds;
  for (int64_t step = 1; step * search.multiple <= answer.last_may_fit; step *= 2) {
    rounds.push_back(step * search.multiple);
    if (step > 1) rounds.push_back(step / 2 * 3 * search.multiple);
  }
  std::erase_if(rounds, [&](int64_t batch) { return batch > answer.last_may_fit; });
  std::ranges::sort(rounds, std::ranges::greater());
  std::set<int64_t> chosen(rounds.begin(), rounds.begin() + static_cast<ptrdiff_t>(std::min(
                                                                rounds.size(), search.rounds)));
  if (answer.safe > 0) chosen.insert(answer.safe);
  return chosen;
}

int64_t as_fast_as_any(const LargestBatch& largest) {
  constexpr double kAsFast = 0.98;
  double best = 0;
  for (const RoundBatch& r : largest.rounds) {
    if (r.memory.batch <= largest.answer.safe) best = std::max(best, r.samples_per_second);
  }
  for (const RoundBatch& r : largest.rounds) {
    if (r.memory.batch <= largest.answer.safe && r.samples_per_second >= kAsFast * best)
      return r.memory.batch;
  }
  return 0;
}

}  // namespace

Result<LargestBatch> largest_batch(const Request& usual, const Hwdb& hwdb,
                                   const BatchSearch& search) {
  Request request = at_longest(usual);
  auto platform =
      find_platform(hwdb, request, request.devices.empty() ? "" : request.devices.front());
  if (!platform) return tl::make_unexpected(platform.error());
  if (!request.batch) request.batch = 32;
  auto model = compile(request, *platform);
  if (!model) return tl::make_unexpected(model.error());
  auto evaluator = Evaluator::make(std::move(*platform), request);
  if (!evaluator) return tl::make_unexpected(evaluator.error());
  LargestBatch largest;
  largest.device_id = evaluator->platform().device.id;
  largest.warnings = model->warnings;
  largest.usable_bytes = usable_bytes(evaluator->platform(), request);
  BatchMemory memory(request, *evaluator, std::move(*model), search.confidence);
  auto answer = max_batch(std::ref(memory), {.capacity = largest.usable_bytes,
                                             .multiple = search.multiple,
                                             .max = search.max,
                                             // No other decisions than those it was compiled for.
                                             .start = *request.batch});
  if (!answer) return tl::make_unexpected(answer.error());
  largest.answer = std::move(*answer);
  for (const int64_t batch : round_batches(largest.answer, search)) {
    auto point = memory(batch);
    if (!point) return tl::make_unexpected(point.error());
    const auto estimated = memory.estimate(batch);
    if (!estimated) return tl::make_unexpected(estimated.error());
    largest.sample_unit = estimated->time.sample_unit;
    largest.rounds.push_back({*point, estimated->time.step_ns, estimated->time.samples_per_second});
  }
  largest.as_fast = as_fast_as_any(largest);
  return largest;
}

}  // namespace plimsoll
