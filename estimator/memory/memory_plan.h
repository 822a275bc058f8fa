// MemoryPlan: what a step needs on a platform: live bytes by role, workspace, what the allocator
// reserves over three steps, what the driver shows.
#pragma once

#include "estimator/behaviour/behaviour.h"
#include "estimator/library/workspace_plan.h"
#include "estimator/memory/device_memory.h"
#include "estimator/memory/evaluation_memory.h"
#include "estimator/memory/memory_estimate.h"
#include "estimator/model/compiled_model.h"
#include "estimator/step/bound_step.h"

namespace plimsoll {

// A step at a point, and all that what it takes of memory depends on.
struct MemoryQuestion {
  const CompiledModel& model;
  const BoundStep& bound;  // the model's step at `binding`
  const Binding& binding;
  const Platform& platform;
  const Behaviour& behaviour;
  const ProgramRequest& program;
  const WorkspacePlan& workspaces;
  const EvaluationPoint* evaluation = nullptr;  // null: nothing is run between steps
};

// What the driver shows, and the verdict, without what a report adds: all that a search
// asks. `minimum`: minimum_bytes too. `last`: of device_memory(). E232 for sizes beyond all
// devices; E902 for a step that frees what it never allocated: a bug of ours.
Result<MemoryEstimate> plan_device(const MemoryQuestion& of, bool minimum = false,
                                   LastReplay* last = nullptr);

// The whole of it: fills in what plan_device(), of the same question, has left open.
void plan_memory(const MemoryQuestion& of, MemoryEstimate& memory);

}  // namespace plimsoll
