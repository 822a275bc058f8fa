#include "estimator/app/search/max_batch.h"

#include <algorithm>
#include <map>

#include "estimator/memory/verdict.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

using End = int64_t BatchPoint::*;

// Whether the verdict on a point is as good as the search for one end of its range asks.
bool suffices(const BatchPoint& point, End end, int64_t usable) {
  const Verdict verdict = verdict_of({point.low, point.high}, usable);
  return verdict == Verdict::kFits || (end == &BatchPoint::low && verdict == Verdict::kMayFit);
}

class Search {
 public:
  Search(const std::function<Result<BatchPoint>(int64_t)>& evaluate, const MaxBatchQuery& query)
      : evaluate_(evaluate),
        query_(query),
        limit_(query.capacity - query.reserve),
        last_step_(query.max / query.multiple),
        first_step_(std::clamp<int64_t>(query.start / query.multiple, 1, last_step_)) {}

  // Largest step, a batch being step * multiple, whose `end` fits; 0 if none does.
  Result<int64_t> largest(End end) {
    // What an earlier search left behind says where to begin.
    Bracket at{.fits = 0, .too_large = last_step_ + 1};
    for (const auto& [step, point] : known_) {
      if (suffices(point, end, limit_)) at.fits = step;
    }
    const auto behind = known_.upper_bound(at.fits);
    if (behind != known_.end()) at.too_large = behind->first;
    for (int round = 0; at.too_large - at.fits > 1; ++round) {
      const int64_t step = next(at, end, round);
      auto ok = TRY(probe(step, end));
      (ok ? at.fits : at.too_large) = step;
    }
    int64_t fits = at.fits;
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
  struct Bracket {
    int64_t fits;       // 0: none that is known
    int64_t too_large;  // beyond the last step: none that is known
  };

  // A step inside the bracket, where a straight line through what is known reaches the limit:
  // memory grows nearly so.
  int64_t next(const Bracket& at, End end, int round) const {
    constexpr int kTrusted = 3;  // rounds in which the line may fail to halve the bracket
    if (known_.empty()) return first_step_;
    if (at.fits == 0) return at.too_large / 2;
    if (at.too_large > last_step_) {
      const int64_t most = std::min(last_step_, at.fits * (round < kTrusted ? 4 : 2));
      const auto last = known_.find(at.fits);
      if (last == known_.begin()) return std::min(last_step_, 2 * at.fits);
      return std::clamp(crossing(*std::prev(last), *last, end), at.fits + 1, most);
    }
    if (round % kTrusted == kTrusted - 1) return at.fits + (at.too_large - at.fits) / 2;
    return std::clamp(crossing(*known_.find(at.fits), *known_.find(at.too_large), end), at.fits + 1,
                      at.too_large - 1);
  }

  using Known = std::map<int64_t, BatchPoint>;

  // The last step at which the line through two points is within the limit.
  int64_t crossing(const Known::value_type& a, const Known::value_type& b, End end) const {
    const auto rise = static_cast<double>(b.second.*end - a.second.*end);
    if (rise <= 0) return last_step_;
    const auto steps = static_cast<double>(b.first - a.first);
    const double at =
        static_cast<double>(a.first) + steps * static_cast<double>(limit_ - a.second.*end) / rise;
    return static_cast<int64_t>(std::clamp(at, 0.0, static_cast<double>(last_step_)));
  }

  Result<bool> probe(int64_t step, End end) {
    auto at = known_.find(step);
    if (at == known_.end()) {
      auto point = TRY(evaluate_(step * query_.multiple));
      point.batch = step * query_.multiple;
      at = known_.emplace(step, point).first;
    }
    return suffices(at->second, end, limit_);
  }

  const std::function<Result<BatchPoint>(int64_t)>& evaluate_;
  const MaxBatchQuery& query_;
  int64_t limit_;
  int64_t last_step_, first_step_;
  Known known_;
};

}  // namespace

Result<MaxBatchAnswer> max_batch(const std::function<Result<BatchPoint>(int64_t)>& evaluate,
                                 const MaxBatchQuery& query) {
  if (query.multiple < 1 || query.max < query.multiple || query.window < 0 || query.reserve < 0 ||
      query.capacity < 0) {
    return error("E121", "the multiple must be at least 1, and the maximum at least the multiple");
  }
  Search search(evaluate, query);
  const auto safe = TRY(search.largest(&BatchPoint::high));
  const auto last = TRY(search.largest(&BatchPoint::low));
  MaxBatchAnswer answer;
  answer.safe = safe * query.multiple;
  answer.last_may_fit = std::max(last, safe) * query.multiple;
  answer.first_may_fit =
      answer.last_may_fit > answer.safe ? answer.safe + query.multiple : answer.safe;
  answer.searched_to = query.max / query.multiple * query.multiple;
  answer.points = search.points();
  return answer;
}

}  // namespace plimsoll
