// largest_batch: how many samples of a request's model its GPU takes, or how long its sequences or
// how large its images may be at a batch, and how fast round sizes below that are.
//
//   auto largest = largest_batch(request, *hwdb);
//   largest->answer.safe   // 150
//   largest->as_fast       // 64: has the speed of the fastest, and leaves memory free
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "estimator/memory/confidence.h"
#include "estimator/plan/max_batch.h"
#include "estimator/request/request.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

struct BatchSearch {
  std::string vary = "batch";  // or "image", or a dimension of the model such as "sequence"
  int64_t multiple = 1;
  int64_t max = MaxBatchQuery{}.max;
  double confidence = kUsualConfidence;
  size_t rounds = 6;  // how many round batches are timed
};

// A batch, or another size, that somebody would choose: a power of two or half as much again, or
// the largest safe one.
struct RoundBatch {
  BatchPoint memory;
  int64_t step_ns = 0;
  double samples_per_second = 0;
};

struct LargestBatch {
  MaxBatchAnswer answer;
  std::vector<RoundBatch> rounds;  // by batch, none beyond the last that may fit
  // The smallest batch of them that is safe and has 98 % of the throughput of the fastest; 0: none,
  // or what varies is no batch.
  int64_t as_fast = 0;
  std::string device_id, sample_unit, vary;
  int64_t batch = 0;         // of all points, where something else varies; else 0
  int64_t usable_bytes = 0;  // what the batches may use
  Diagnostics warnings;      // of the model and the platform
};

// The memory is that of the longest batch of --longest or --lengths. Errors: as estimate(), E113
// for a dimension that the model does not have, and E121 for a search that makes no sense. N524 in
// the warnings where the model, not the memory, ends the search. Cost: that of max_batch(), and an
// estimate for each round.
Result<LargestBatch> largest_batch(const Request& request, const Hwdb& hwdb,
                                   const BatchSearch& search = {});

}  // namespace plimsoll
