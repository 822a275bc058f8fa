// Whether the sizes that flags give agree with each other, whatever the model is.
#pragma once

#include "estimator/request/request.h"
#include "graph/base/diagnostic.h"

namespace plimsoll {

// E114 for a size that two flags give, and give differently; and for a longest batch that is
// shorter than another one that is asked for.
Result<void> check_agreement(const ModelRequest& request);

}  // namespace plimsoll
