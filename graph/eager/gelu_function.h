// GELU by its tanh, as an autograd function in plain operators that keeps nothing but its input:
// BLOOM's (transformers, modeling_bloom.py, GeLUFunction).
#pragma once

#include "graph/eager/machine.h"

namespace plimsoll::eager {

Value gelu_function(Machine& m, const Value& x);

}  // namespace plimsoll::eager
