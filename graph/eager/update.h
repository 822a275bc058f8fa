// The optimizer's step on all gradients: its temporaries and its launch.
#pragma once

#include "graph/eager/machine.h"

namespace plimsoll::eager {

// `scale`: of a gradient scaler, undefined where there is none; gradients are unscaled first.
void update(Machine& m, const Value& scale);

}  // namespace plimsoll::eager
