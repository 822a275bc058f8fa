// Serving: a prefill of all sequences, then one more token of each.
#pragma once

#include "estimator/evaluator.h"

namespace plimsoll {

// Once over all positions; and one more token of each sequence: a step over one position, which
// reads what the cache holds. A model without a sequence is answered as inference. Cost: two
// estimates and two compiled steps.
Result<Estimate> estimate_serving(Request request, const Hwdb& hwdb);

}  // namespace plimsoll
