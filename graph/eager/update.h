// The optimizer: the states that it keeps, and its step on all gradients, as its row says
// (graph/ir/optimizer.h).
#pragma once

#include "graph/eager/machine.h"

namespace plimsoll::eager {

// The states of every trained parameter, in the order in which the first step makes them.
void make_states(Machine& m);

// Temporaries and launches of a step. `scale`: of a gradient scaler, undefined where there is none;
// gradients are unscaled first.
void update(Machine& m, const Value& scale);

}  // namespace plimsoll::eager
