// A config of Hydra's as a plan: what its sweeper sweeps, and the config's own values, which stay.
#pragma once

#include <string_view>

#include "estimator/app/sweep/sweep_plan.h"
#include "graph/base/limits.h"

namespace plimsoll {

// Parameters of `hydra.sweeper.params` in their order, then the config's other words and numbers,
// `model` aside, by their dotted paths: a value each. What the sweeper (Hydra's own, or Optuna's)
// asks for beside them is method, seed and cap, or E311 by its name; so are defaults that name
// other files.
void read_hydra_plan(const JsonValue& root, std::string_view file, const Limits& limits,
                     SweepPlan& plan, Diagnostics& faults);

}  // namespace plimsoll
