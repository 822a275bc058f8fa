// An explanation is of one rank: of a pipeline's stages, which differ, the request says which.
#pragma once

#include "estimator/request/platform.h"
#include "estimator/request/request.h"
#include "graph/base/diagnostic.h"

namespace plimsoll {

// E114 where there are several stages and no rank is given.
Result<void> check_one_stage(const Request& request, const Platform& platform);

}  // namespace plimsoll
