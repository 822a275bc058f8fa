// A run on the host itself, --gpu cpu: what it takes of memory, and nothing else.
#pragma once

#include "estimator/answer/estimate.h"
#include "estimator/behaviour/behaviour.h"
#include "estimator/model/compiled_model.h"
#include "estimator/request/platform.h"

namespace plimsoll {

// E116: a question about time, or one that asks for many estimates.
tl::unexpected<Diagnostics> of_memory_alone();

// At the binding that the model was compiled at. N528 says that time is not known, N529 that the
// verdict is not. Errors as plan_memory().
Result<Estimate> estimate_on_host(const CompiledModel& model, const Platform& platform,
                                  const Behaviour& behaviour, const Request& request);

}  // namespace plimsoll
