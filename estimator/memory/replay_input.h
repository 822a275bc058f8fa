// ReplayInput from a step at a point: the program that a framework's allocator sees.
#pragma once

#include <optional>
#include <vector>

#include "estimator/library/workspace_plan.h"
#include "estimator/memory/device_memory.h"
#include "estimator/memory/module_storages.h"
#include "estimator/model/compiled_model.h"
#include "estimator/step/bound_step.h"
#include "hwdb/framework.h"

namespace plimsoll {

// Whose storage each buffer takes over in the framework, or itself; of in_place.h.
std::vector<BufferId> storages_of(const CompiledModel& model, const BoundStep& bound,
                                  const FrameworkProfile& framework);

// `kept`: library buffers of the forward and the backward thread, taken through the allocator at
// their first matrix product. `modules`: what a network of modules holds, in place of the step's
// values and their gradients. `storages`: of storages_of(). Loader and steps are as ReplayInput's
// defaults.
ReplayInput replay_input(const CompiledModel& model, const BoundStep& bound,
                         const WorkspacePlan& workspaces, const FrameworkProfile& framework,
                         const std::vector<int64_t>& kept,
                         const std::optional<ModuleStorages>& modules,
                         std::vector<BufferId> storages);

}  // namespace plimsoll
