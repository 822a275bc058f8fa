// What a process takes of a card beside its framework's allocator: the context, libraries' modules
// and handles, buffers of collectives.
#pragma once

#include <optional>

#include "estimator/memory/device_memory.h"
#include "estimator/model/compiled_model.h"
#include "estimator/step/bound_step.h"
#include "hwdb/context.h"

namespace plimsoll {

struct Platform;
struct ProgramRequest;

// As it is given, or the bytes of the platform's row for what the step calls; `row` is then that
// row.
Context context_on_card(const CompiledModel& model, const BoundStep& bound,
                        const Platform& platform, const ProgramRequest& program,
                        std::optional<ContextChoice>& row);

}  // namespace plimsoll
