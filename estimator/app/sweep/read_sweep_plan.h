// A plan's file, in whichever tool's form, as a SweepPlan.
#pragma once

#include <string_view>

#include "estimator/app/sweep/sweep_plan.h"
#include "graph/base/diagnostic.h"
#include "graph/base/limits.h"

namespace plimsoll {

// E3xx for what is no plan: E304 for an unknown key, E311 and E312 for a parameter that is neither
// a value, a list of values nor a range of whole numbers, for a cap or seed that is no whole number
// and for whatever a plan asks for and is not done; E313 for a method other than grid and random;
// E324 for a constraint; E807 for a range of more values than JSON may hold.
Result<SweepPlan> read_sweep_plan(std::string_view text, std::string_view file,
                                  const Limits& limits);

}  // namespace plimsoll
