// The optimizer: the states that it keeps, and its step on all gradients, as its row says
// (graph/ir/optimizer.h).
#pragma once

#include "graph/eager/machine.h"
#include "graph/eager/masters.h"

namespace plimsoll::eager {

// What it keeps of a parameter: a copy of another type (masters.h), and its states.
std::vector<TensorType> kept_of(const Recipe& recipe, const TensorType& parameter,
                                Decider& decider);

// The states of the parameters that a gradient reached, in the order in which the first step makes
// them; copies are made of all. They live before the step too: call it after the step is written.
void make_states(Machine& m);

// Room for gradients of the step before, where no pass of this one has made any yet.
std::vector<Value> last_gradients(Machine& m);

// Temporaries and launches of a step. `scale`: of a gradient scaler, undefined where there is none;
// gradients are unscaled first, unless they went to the copies.
void update(Machine& m, const Value& scale);

}  // namespace plimsoll::eager
