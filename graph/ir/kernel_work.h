// What a problem of a library's is: its operations and its compulsory traffic.
#pragma once

#include "graph/ir/kernel.h"

namespace plimsoll {

// Fills flop, read and written of a kernel whose problem is a product, a convolution or a recurrent
// layer, from the problem, the pass and the type, as eager code launches it: both operands read and
// the result written once, without biases. Others keep what they have.
void set_work(KernelAt& kernel);

}  // namespace plimsoll
