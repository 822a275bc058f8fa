// A plan's parameter `trainer` that names a file of a training program.
#pragma once

#include <string>

#include "estimator/app/cli/shared_flags.h"
#include "estimator/app/sweep/sweep_plan.h"

namespace plimsoll::cli {

// Names of programs are an axis as any other; a file is not.
bool is_trainer_file(const SweepParameter& parameter);

// The file as if a flag named it, so that the plan's settings win over those in it. `path`: the
// plan's, from whose folder it is seen, or from that of the command. E311 where it is one of
// several values, E114 where a flag names another.
Result<void> take_trainer(const SweepPlan& plan, const std::string& path, SharedFlags& flags);

}  // namespace plimsoll::cli
