// Linear layers whose products read 8 bits: torchao's training with dynamic scales, one for each
// tensor (torchao/float8/float8_linear.py, matmul_with_hp_or_float8_args). What is kept stays in 16
// bits, and each product casts its operands anew.
#pragma once

#include "graph/eager/machine.h"

namespace plimsoll::eager {

// Whether the recipe has such products and the library takes these: torch._scaled_mm wants inner
// and outer dimensions that are multiples of 16.
bool in_float8(Machine& m, const Value& x, const Value& weight);

// x [..., in], contiguous, times weight [out, in] transposed, plus bias [out] where it is defined.
Value float8_linear(Machine& m, const Value& x, const Value& weight, const Value& bias);

}  // namespace plimsoll::eager
