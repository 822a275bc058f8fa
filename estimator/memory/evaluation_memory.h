// What is run between steps of training, in memory: as the allocator sees it, and its live bytes.
#pragma once

#include "estimator/memory/memory_plan.h"

namespace plimsoll {

// Of the question's pass.
PassesBetween passes_between(const MemoryQuestion& of);

// Fills in `memory.evaluation`, whose replay is known, and what `memory` has of the peak where the
// evaluation holds it. `memory`: of the step, whose timeline is `step`.
void set_evaluation(const MemoryQuestion& of, const Timeline& step, MemoryEstimate& memory);

}  // namespace plimsoll
