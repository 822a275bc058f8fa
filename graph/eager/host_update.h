// The optimizer on the host's processors, where states are in its memory (Offload).
#pragma once

#include "graph/eager/machine.h"

namespace plimsoll::eager {

// Where states are on the host: whether a parameter's are. torchao leaves small ones on the device.
bool is_updated_on_host(Machine& m, const GradNode& leaf);
bool updates_all_on_host(const Machine& m);

// A state, or a copy in a wider type, of a parameter, that lives before and after the step.
// `copied`: to where the parameter is, for which hosts pin it.
void keep_state(Machine& m, const GradNode& leaf, const TensorType& state, bool copied = false);

// What the host reads and writes for a step of the parameters whose gradients it has, and new
// weights on their way to where they are kept. All of it is awaited.
void update_on_host(Machine& m);

}  // namespace plimsoll::eager
