// advise: combinations of changes to a request that make its step need less memory.
//
//   auto advice = advise(request, *hwdb);
//   advice->stacks.front().settings   // "--precision amp-bf16 --checkpoint blocks"
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "estimator/answer/answer_notes.h"
#include "estimator/answer/estimate.h"
#include "estimator/answer/remedy.h"
#include "estimator/app/search/changes.h"
#include "estimator/request/request.h"
#include "graph/json/fields.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

struct Advice {
  std::string device_id, sample_unit;
  int64_t usable_bytes = 0;
  Remedy today;                // the request as it is
  std::vector<Remedy> stacks;  // those that fit, the fastest first; else those that need least
  AnswerNotes notes;           // of the request as it is
};

inline void describe(Fields& f, Advice& a) {
  f.object("device", [&] {
    f("id", a.device_id);
    f("usable_bytes", a.usable_bytes);
  });
  f("sample_unit", a.sample_unit);
  f("today", a.today, "the request as it is");
  f("advice", a.stacks,
    "combinations of changes, the fastest first: no other of the same fine-tuning is both smaller "
    "and as fast. Those that fit, or where none does those that need least");
}

// Every combination of stackable_changes(), and of one that does not fit the same batch in passes.
// A change that saves less than 2 % is left out. A combination that fits is not combined further
// unless the request itself fits: those that fit, the fastest first, or where none does those that
// need least. `today`: the request's estimate. Cost: at most an estimate and a batch search for
// each of 24 combinations.
// `trials`: of this request, with what was asked of it before.
std::vector<Remedy> stacks(const Request& request, const Hwdb& hwdb, const Estimate& today,
                           Trials& trials);

// The same with the request that each of them makes.
struct Stack {
  Remedy remedy;
  Request request;
};
std::vector<Stack> changed_stacks(const Request& request, const Hwdb& hwdb, const Estimate& today,
                                  Trials& trials);

// Of them those that fit. Where not even all changes together leave room for what stays between
// steps, nothing else is estimated.
std::vector<Remedy> stacks_that_fit(const Request& request, const Hwdb& hwdb, const Estimate& today,
                                    Trials& trials);

// With the request's own estimate. Errors: as estimate(), E116 for the host as a device.
Result<Advice> advise(const Request& request, const Hwdb& hwdb);

}  // namespace plimsoll
