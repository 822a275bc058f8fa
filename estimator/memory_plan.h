// MemoryPlan: what a step needs on a platform: live bytes by role, workspace, what the allocator
// reserves over three steps, what the driver shows.
#pragma once

#include <string>
#include <vector>

#include "estimator/bound_step.h"
#include "estimator/compiled_model.h"
#include "estimator/estimate.h"
#include "estimator/memory/device_memory.h"
#include "estimator/workspace_plan.h"
#include "hwdb/framework.h"

namespace plimsoll {

struct Platform;

// `with_minimum`: search the smallest capacity too, some ten replays more.
// E103 for a --cuda that is no version; E902 for a step that frees what it never allocated: a bug
// of ours.
Result<MemoryEstimate> plan_memory(const CompiledModel& model, const BoundStep& bound,
                                   const Binding& binding, const Platform& platform,
                                   const Request& request, const WorkspacePlan& workspaces,
                                   bool with_minimum);

// Bytes to which the framework's allocator rounds.
int64_t granule_of(const FrameworkProfile& framework);

}  // namespace plimsoll
