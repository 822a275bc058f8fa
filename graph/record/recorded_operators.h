// The kernels that a card runs for a recorded call: a row for each operator.
#pragma once

#include <vector>

#include "graph/ir/kernel.h"
#include "graph/ir/step.h"
#include "graph/record/recorded_call.h"

namespace plimsoll {

// In the order in which they are launched; none for a call that writes nothing. An operator that no
// row knows moves its operands once and computes one operation an element.
std::vector<Kernel> kernels_of(const RecordedCall& call, Phase phase, const TensorCoreUse& use);

}  // namespace plimsoll
