// Recurrent layers as programs without the library run them: the operators of every time step, each
// a kernel of its own. A loop's cell multiplies its input and state as one matrix (TensorFlow) or
// each by itself (MXNet), cuts the product into gates, bends and combines them one by one.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/ir/kernel.h"

namespace plimsoll {

struct RepeatedKernel {
  KernelAt kernel;
  int64_t count = 1;
};

// A recurrent layer that no library call runs, or what a loop launches in each of its turns.
bool is_unrolled(const KernelAt& kernel);

// The kernels that stand for one pass of a RecurrentProblem that is unrolled, or for all turns of a
// loop's kernel. The data gradient's pass of a layer holds the gradients of all that bends, the
// weight gradient's pass the sums over time.
std::vector<RepeatedKernel> unroll(const KernelAt& kernel);

}  // namespace plimsoll
