// What is run between steps of training, in memory: as the allocator sees it, and its live bytes.
#pragma once

#include "estimator/behaviour/allocator.h"
#include "estimator/library/workspace_plan.h"
#include "estimator/memory/device_memory.h"
#include "estimator/memory/memory_estimate.h"
#include "estimator/memory/timeline.h"
#include "estimator/model/compiled_model.h"
#include "estimator/step/bound_step.h"

namespace plimsoll {

// A pass that is run between steps, at its point.
struct EvaluationPoint {
  const CompiledModel* model = nullptr;
  BoundStep bound;
  Binding binding;
  WorkspacePlan workspaces;
  int64_t gathered = 0;         // passes whose outputs gather on the device
  std::vector<int64_t> left{};  // bytes of gradients_left()
};

// Gradients that the program sets to none as the next step begins: they are there in between.
std::vector<int64_t> gradients_left(const CompiledModel& step, const BoundStep& bound);

PassesBetween passes_between(const EvaluationPoint& pass, const AllocatorBehaviour& allocator);

// Fills in `memory.evaluation`, whose replay is known, and what `memory` has of the peak where the
// evaluation holds it: else it is the step's, of timeline `step`.
// `rounding`: the allocator's.
void set_evaluation(const EvaluationPoint& pass, const Timeline& of_pass, const Timeline& step,
                    int64_t rounding, MemoryEstimate& memory);

}  // namespace plimsoll
