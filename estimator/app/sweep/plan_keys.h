// What a plan says beside its parameters, described once for its reader and its schema; and that
// schema, with the forms of the tools whose plans are read as they are.
#pragma once

#include <string>

#include "estimator/app/sweep/sweep_plan.h"
#include "graph/json/fields.h"

namespace plimsoll {

// Which of the configurations are tried: "method", "run_cap", "seed".
void describe_search(Fields& f, SweepPlan& plan);
void describe_objective(Fields& f, SweepPlan& plan);
void describe(Fields& f, Objective& objective);

std::string plan_schema();

}  // namespace plimsoll
