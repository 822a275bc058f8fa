// ReplayInput from a step at a point: the program that a framework's allocator sees.
#pragma once

#include <vector>

#include "estimator/bound_step.h"
#include "estimator/compiled_model.h"
#include "estimator/memory/device_memory.h"
#include "estimator/workspace_plan.h"
#include "hwdb/framework.h"

namespace plimsoll {

// `kept`: library buffers of the forward and the backward thread, taken through the allocator at
// their first matrix product. Loader and steps are as ReplayInput's defaults.
ReplayInput replay_input(const CompiledModel& model, const BoundStep& bound,
                         const WorkspacePlan& workspaces, const FrameworkProfile& framework,
                         const std::vector<int64_t>& kept);

}  // namespace plimsoll
