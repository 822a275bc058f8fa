// MemoryPlan: what a step needs on a platform: live bytes by role, workspace, what the allocator
// reserves over three steps, what the driver shows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/library/workspace_plan.h"
#include "estimator/memory/device_memory.h"
#include "estimator/memory/memory_estimate.h"
#include "estimator/memory/module_storages.h"
#include "estimator/model/compiled_model.h"
#include "estimator/step/bound_step.h"
#include "hwdb/context.h"
#include "hwdb/framework.h"

namespace plimsoll {

struct Platform;
struct ProgramRequest;

// What the driver shows, without what a report says beside it: all that a search asks.
struct DevicePlan {
  DeviceMemory memory;
  std::optional<ModuleStorages> modules;  // of frameworks whose modules hold them
  std::optional<ContextChoice> context;   // nothing where its bytes were given or are exact
  std::vector<BufferId> storages;         // of storages_of()
  Verdict verdict = Verdict::kDoesNotFit;
  int64_t taken_bytes = 0;           // by a framework that takes the whole card
  std::optional<GrownMemory> grown;  // of the same, told to grow; `memory` is what it needs
  // Without gradients a value lives as long as a name of the Python code holds it, which no file
  // says: one more or one less at the peak, which the range has.
  int64_t held_by_names = 0;
  // What names may add more than that in training, by a file that does not list the code; else 0.
  int64_t more_by_names = 0;
};

// `minimum`: DeviceMemory::minimum too. `last`: of device_memory(). E232 for sizes beyond all
// devices; E902 for a step that frees what it never allocated: a bug of ours.
Result<DevicePlan> plan_device(const CompiledModel& model, const BoundStep& bound,
                               const Binding& binding, const Platform& platform,
                               const ProgramRequest& program, const WorkspacePlan& workspaces,
                               bool minimum = false, LastReplay* last = nullptr);

// The whole of it, with `plan`, of the same.
MemoryEstimate plan_memory(const CompiledModel& model, const BoundStep& bound,
                           const Binding& binding, const Platform& platform,
                           const ProgramRequest& program, const WorkspacePlan& workspaces,
                           const DevicePlan& plan, bool minimum = false);

// Bytes to which the framework's allocator rounds.
int64_t granule_of(const FrameworkProfile& framework);

}  // namespace plimsoll
