// An estimate as a page: the answer and its pictures, every figure in tables, the JSON itself.
#pragma once

#include <string>

#include "estimator/answer/estimate.h"
#include "estimator/app/search/largest_batch.h"

namespace plimsoll {

// Of an estimate whose request asks for detail. `batches`: what a search says, or why there is
// none. `command` repeats it. Below 1.5 MB: of very large networks without `kept`, then without
// layers, which it says.
std::string estimate_page(const Estimate& estimate, const Result<LargestBatch>& batches,
                          const std::string& command);

}  // namespace plimsoll
