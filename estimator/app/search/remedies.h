// remedies: changes to a request that make its step need less memory, each estimated as a request
// of its own.
//
//   if (estimate->memory.verdict != Verdict::kFits)
//     estimate->remedies = remedies(request, *hwdb, *estimate, models);
#pragma once

#include <vector>

#include "estimator/answer/estimate.h"
#include "estimator/model/model_cache.h"
#include "estimator/request/request.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

// What is tried: the largest safe batch, the same batch in several passes, autocast, recomputed
// blocks, an optimizer with smaller states, less workspace, growing segments. Left out is what the
// model, the framework or the card does not allow, and what saves less than 2 % without another
// verdict. Where no single change fits the same batch, combinations that do (advice.h). Best
// verdicts first, then the least time a sample. Cost: a batch search and some seven estimates, and
// that of stacks(). `models`: of Trials.
std::vector<Remedy> remedies(const Request& request, const Hwdb& hwdb, const Estimate& today,
                             ModelCache& models);

}  // namespace plimsoll
