// The optimizer: the states that it keeps, and its step on all gradients, as its row says
// (graph/ir/optimizer.h).
#pragma once

#include "graph/eager/machine.h"

namespace plimsoll::eager {

// What the optimizer updates of a parameter: its own copy of another type, where it has one.
TensorType updated_type(const Recipe& recipe, const TensorType& parameter);
// Whether that copy is beside the parameter; else the part that is kept of a sharded one is of that
// type, and what is gathered is cast (MixedPrecisionPolicy.param_dtype).
bool copies_masters(const Recipe& recipe);
// The type in which a device keeps its part of a parameter.
DType kept_type(const Recipe& recipe, DType dtype);
// What it keeps of a parameter: that copy, and its states.
std::vector<TensorType> kept_of(const Recipe& recipe, const TensorType& parameter,
                                Decider& decider);

// What a parameter's gradient is at the update.
TensorType gradient_type(const Machine& m, const GradNode& leaf);

// The states of the parameters that a gradient reached, in the order in which the first step makes
// them; copies are made of all. They live before the step too: call it after the step is written.
void make_states(Machine& m);

// Room for gradients of the step before, where no pass of this one has made any yet.
std::vector<Value> last_gradients(Machine& m);
// Gradients that were just made, unscaled, into those of the copies: made by the first pass.
void add_to_masters(Machine& m, std::vector<Value>& masters);

// Temporaries and launches of a step. `scale`: of a gradient scaler, undefined where there is none;
// gradients are unscaled first, unless they went to the copies.
void update(Machine& m, const Value& scale);

}  // namespace plimsoll::eager
