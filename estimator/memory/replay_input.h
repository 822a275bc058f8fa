// ReplayInput from a step at a point: the program that a framework's allocator sees.
#pragma once

#include <optional>
#include <vector>

#include "estimator/behaviour/allocator.h"
#include "estimator/library/workspace_plan.h"
#include "estimator/memory/device_memory.h"
#include "estimator/memory/module_storages.h"
#include "estimator/model/compiled_model.h"
#include "estimator/step/bound_step.h"

namespace plimsoll {

// Whose storage each buffer takes over with the framework, or itself; of in_place.h.
std::vector<BufferId> storages_of(const CompiledModel& model, const BoundStep& bound,
                                  const AllocatorBehaviour& allocator);

// `modules`: what a network of modules holds, in place of the step's
// values and their gradients. `storages`: of storages_of(). Loader and steps are as ReplayInput's
// defaults.
ReplayInput replay_input(const CompiledModel& model, const BoundStep& bound,
                         const WorkspacePlan& workspaces, const AllocatorBehaviour& allocator,
                         const std::optional<ModuleStorages>& modules,
                         std::vector<BufferId> storages);

}  // namespace plimsoll
