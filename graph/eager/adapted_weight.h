// A frozen weight with a low-rank product, folded into it for each use, as peft adapts
// what is no layer of its own: stacks of experts and routers (peft 0.21, tuners/lora/layer.py,
// ParamWrapper, _LoraFactorsProxy, _LoraParameterProxy).
#pragma once

#include "graph/eager/machine.h"

namespace plimsoll::eager {

// weight [E, out, in] or [out, in], a [r E, in], b [out, r E] -> weight + factor (b a), of the
// weight's shape and type; E is 1 for a matrix. Autograd keeps both factors in the weight's type,
// of a stack; a and b themselves, of a matrix. It is made twice: once for
// torch.nn.utils.parametrize to look at its type and shape.
Value adapted_weight(Machine& m, const Value& weight, const Value& a, const Value& b);

}  // namespace plimsoll::eager
