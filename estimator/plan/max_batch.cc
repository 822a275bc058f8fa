#include "estimator/plan/max_batch.h"

#include <algorithm>
#include <map>

namespace plimsoll {
namespace {

class Search {
 public:
  Search(const std::function<Result<BatchPoint>(int64_t)>& evaluate, const MaxBatchQuery& query)
      : evaluate_(evaluate),
        query_(query),
        limit_(query.capacity - query.reserve),
        last_step_(query.max / query.multiple) {}

  // Largest step, a batch being step * multiple, whose `end` fits; 0 if none does.
  Result<int64_t> largest(int64_t BatchPoint::*end) {
    int64_t fits = 0;
    int64_t too_large = 1;
    for (;;) {  // doubling
      auto ok = probe(too_large, end);
      if (!ok) return tl::unexpected(ok.error());
      if (!*ok) break;
      fits = too_large;
      if (fits == last_step_) return fits;
      too_large = std::min(2 * fits, last_step_);
    }
    while (too_large - fits > 1) {  // bisection
      const int64_t middle = fits + (too_large - fits) / 2;
      auto ok = probe(middle, end);
      if (!ok) return tl::unexpected(ok.error());
      (*ok ? fits : too_large) = middle;
    }
    for (int64_t step = fits + 1; step <= std::min(fits + query_.window, last_step_); ++step) {
      auto ok = probe(step, end);  // behind the edge
      if (!ok) return tl::unexpected(ok.error());
      if (*ok) fits = step;
    }
    return fits;
  }

  std::vector<BatchPoint> points() const {
    std::vector<BatchPoint> all;
    for (const auto& [step, point] : known_) all.push_back(point);
    return all;
  }

 private:
  Result<bool> probe(int64_t step, int64_t BatchPoint::*end) {
    auto at = known_.find(step);
    if (at == known_.end()) {
      auto point = evaluate_(step * query_.multiple);
      if (!point) return tl::unexpected(point.error());
      point->batch = step * query_.multiple;
      at = known_.emplace(step, *point).first;
    }
    return at->second.*end <= limit_;
  }

  const std::function<Result<BatchPoint>(int64_t)>& evaluate_;
  const MaxBatchQuery& query_;
  int64_t limit_;
  int64_t last_step_;
  std::map<int64_t, BatchPoint> known_;
};

}  // namespace

Result<MaxBatchAnswer> max_batch(const std::function<Result<BatchPoint>(int64_t)>& evaluate,
                                 const MaxBatchQuery& query) {
  if (query.multiple < 1 || query.max < query.multiple || query.window < 0 || query.reserve < 0 ||
      query.capacity < 0) {
    return error("E121", "the search needs a multiple of at least 1 and a maximum that reaches it");
  }
  Search search(evaluate, query);
  const auto safe = search.largest(&BatchPoint::high);
  if (!safe) return tl::unexpected(safe.error());
  const auto last = search.largest(&BatchPoint::low);
  if (!last) return tl::unexpected(last.error());
  MaxBatchAnswer answer;
  answer.safe = *safe * query.multiple;
  answer.last_may_fit = std::max(*last, *safe) * query.multiple;
  answer.first_may_fit =
      answer.last_may_fit > answer.safe ? answer.safe + query.multiple : answer.safe;
  answer.points = search.points();
  return answer;
}

}  // namespace plimsoll
