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

#include "estimator/answer/answer_notes.h"
#include "estimator/answer/memory_part.h"
#include "estimator/answer/remedy.h"
#include "estimator/app/search/max_batch.h"
#include "estimator/memory/confidence.h"
#include "estimator/model/model_cache.h"
#include "estimator/request/request.h"
#include "graph/json/fields.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

struct BatchSearch {
  std::string vary = "batch";  // or "image", or a dimension of the model such as "sequence"
  int64_t multiple = 1;
  int64_t max = MaxBatchQuery{}.max;
  double confidence = kUsualConfidence;
  size_t rounds = 6;   // how many round batches are timed
  bool parts = false;  // whether each of them says what its memory consists of
};

// A batch, or another size, that somebody would choose: a power of two or half as much again, or
// the largest safe one.
struct RoundBatch {
  BatchPoint memory;
  int64_t step_ns = 0;
  double samples_per_second = 0;
  std::vector<MemoryPart> parts{};  // of the peak, where they were asked for
};

// Changes that make the smallest batch fit, and the largest that is safe with them; 0: none.
struct BatchRemedy {
  Remedy remedy;
  int64_t safe = 0;
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
  BatchSearch search;
  std::vector<BatchRemedy> advice;  // where nothing is safe (batch_advice.h)
  AnswerNotes notes;                // of the model and the platform
};

// What was found, without what it was found for.
inline void describe_sizes(Fields& f, LargestBatch& l) {
  f("safe", l.answer.safe, "the largest size whose range's high end fits; 0: none");
  f("may_fit", Range{l.answer.first_may_fit, l.answer.last_may_fit},
    "the first and the last that may fit; both equal safe where there is no doubt");
  f("searched_to", l.answer.searched_to);
  f("as_fast", l.as_fast,
    "the smallest of the rounds that is safe and has 98 % of the throughput of the fastest; 0: "
    "none");
}

inline void describe_speed(Fields& f, RoundBatch& r) {
  f("step_ns", r.step_ns);
  f("samples_per_second", r.samples_per_second, {.low = 0});
  f("parts", r.parts,
    {.meaning = "of its peak, largest first; only in reports", .absent_where = r.parts.empty()});
}

inline void describe_point(Fields& f, BatchPoint& p, const LargestBatch& l) {
  f("batch", l.batch > 0 ? l.batch : p.batch, {.low = 1});
  f("size", p.batch, {.meaning = "of what varies; the batch where it does", .low = 1});
  describe(f, p, l.usable_bytes);
}

inline void describe(Fields& f, BatchRemedy& r) {
  describe(f, r.remedy);
  f("safe", r.safe, "the largest batch that is safe with these changes; 0: none");
}

inline void describe(Fields& f, LargestBatch& l) {
  f.object("device", [&] {
    f("id", l.device_id);
    f("usable_bytes", l.usable_bytes);
  });
  f("vary", l.vary,
    "batch, image, or a dimension of the model: safe, may_fit, searched_to and every size are of "
    "it");
  describe_sizes(f, l);
  f.list("rounds", l.rounds,
         [&](RoundBatch& r) {
           describe_point(f, r.memory, l);
           describe_speed(f, r);
         },
         {.meaning = "batches of round sizes, and the largest safe one, with their time"});
  f.list("points", l.answer.points, [&](BatchPoint& p) { describe_point(f, p, l); },
         {.meaning = "all that the search looked at"});
  f("advice", l.advice,
    {.meaning = "combinations of changes at the smallest batch, where none is safe: those that "
                "fit, the fastest first, or where none does those that need least",
     .absent_where = l.advice.empty()});
}

// The verb's own settings.
inline void describe_verb_settings(Fields& f, LargestBatch& l) {
  f("vary", l.search.vary);
  f("multiple", l.search.multiple, {.low = 1});
  f("max", l.search.max, {.low = 1});
  f("confidence", l.search.confidence, {.low = .5});
}

// The memory is that of the longest batch of --longest or --lengths; of a pipeline, that of the
// stage that needs most, and the time of the slowest. Errors: as estimate(), E113 for a dimension
// that the model does not have, and E121 for a search that makes no sense. N524 in the warnings
// where the model, not the memory, ends the search. Cost: that of max_batch(), and an estimate for
// each round. `models`: those compiled so far, for who searches often.
Result<LargestBatch> largest_batch(const Request& request, const Hwdb& hwdb,
                                   const BatchSearch& search = {}, ModelCache* models = nullptr);

}  // namespace plimsoll
