// max_batch: the largest batch that fits, searched exactly with few evaluations.
//
//   auto answer = max_batch(evaluate, {.capacity = 8 << 30, .multiple = 8});
//   answer->safe        // 96: even the high end of its range fits
//   answer->first_may_fit, answer->last_may_fit   // 104, 112: fits only if the low end
//   holds
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "estimator/memory/verdict.h"
#include "graph/base/diagnostic.h"
#include "graph/json/fields.h"

namespace plimsoll {

// What one batch needs; low <= device_bytes <= high at the confidence wanted by the caller.
struct BatchPoint {
  int64_t batch = 0;
  int64_t device_bytes = 0, low = 0, high = 0;
};

inline void describe(Fields& f, BatchPoint& p, int64_t usable_bytes) {
  f("device_bytes", p.device_bytes);
  f("range", Range{p.low, p.high});
  f("verdict", verdict_of({p.low, p.high}, usable_bytes));
}

struct MaxBatchQuery {
  int64_t capacity = 0;  // bytes the driver reports
  int64_t reserve = 0;   // bytes of it to leave alone
  int64_t multiple = 1;  // only multiples of this are of interest
  int64_t max = 1 << 20;
  int64_t start = 1;  // where the search may begin: a batch for which `evaluate` is cheap
  // Allocators round: a larger batch can need less. Dips are found if they end within this many
  // multiples.
  int64_t window = 8;
};

struct MaxBatchAnswer {
  int64_t safe = 0;           // largest batch whose high end fits; 0: none
  int64_t first_may_fit = 0;  // the doubtful batches above it; both equal safe where none is
  int64_t last_may_fit = 0;
  int64_t searched_to = 0;         // no larger batch was looked at
  std::vector<BatchPoint> points;  // all that were evaluated, by batch
};

// E121 for a query that makes no sense; else what `evaluate` reports. Cost: about
// 10 + 2 window evaluations where memory grows nearly straight, each batch at most once.
Result<MaxBatchAnswer> max_batch(const std::function<Result<BatchPoint>(int64_t)>& evaluate,
                                 const MaxBatchQuery& query);

}  // namespace plimsoll
