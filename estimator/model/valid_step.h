// A compiled step at a point, where its guards hold, and what is said where it cannot be bound.
#pragma once

#include "estimator/model/compiled_model.h"
#include "estimator/step/bound_step.h"

namespace plimsoll {

// `why`, with the node whose size is beyond 64 bits as its place.
tl::unexpected<Diagnostics> too_large(const CompiledModel& model, const Binding& binding,
                                      Diagnostics why);

// E903, or why a guard cannot be evaluated: those that do not hold where the step was just compiled
// are such.
tl::unexpected<Diagnostics> other_decisions(const CompiledModel& model, const Binding& binding);

// As those two.
Result<BoundStep> bind_where_valid(const CompiledModel& model, const Binding& binding);

}  // namespace plimsoll
