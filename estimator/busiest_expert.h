// A mixture of experts, whose shares of the tokens are not known before a run.
#pragma once

#include "estimator/evaluator.h"

namespace plimsoll {

// A mixture of experts is priced with even shares; that all tokens go to one expert of each layer
// is in the range. Cost: one more estimate.
Result<Estimate> with_all_to_one_expert(Estimate even, Request request, const Hwdb& hwdb,
                                        ModelCache* models = nullptr);

}  // namespace plimsoll
