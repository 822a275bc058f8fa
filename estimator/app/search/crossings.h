// crossings: what the ranks along each axis of a plan tell each other, and which links that
// crosses.
#pragma once

#include <vector>

#include "estimator/app/search/plan_advice.h"
#include "estimator/request/platform.h"

namespace plimsoll {

// Of the request's plan on so many GPUs; axes of one rank tell nobody anything.
std::vector<Crossing> crossings_of(const Request& request, const Platform& platform);

}  // namespace plimsoll
