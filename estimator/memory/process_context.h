// What a process takes of a card beside its framework's allocator: the context, libraries' modules
// and handles, buffers of collectives.
#pragma once

#include "estimator/behaviour/process.h"
#include "estimator/memory/device_memory.h"
#include "estimator/model/compiled_model.h"
#include "estimator/step/bound_step.h"

namespace plimsoll {

// As it is given, or the bytes of the process's row for what the step calls.
Context context_on_card(const CompiledModel& model, const BoundStep& bound,
                        const Platform& platform, const ProcessBehaviour& process,
                        const ProgramRequest& program);

// Of the process's row, where it tells the context: which row, and what of it was measured on this
// very card.
std::string context_basis(const Platform& platform, const ProcessBehaviour& process);

}  // namespace plimsoll
