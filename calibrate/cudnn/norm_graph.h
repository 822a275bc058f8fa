// A layer norm or RMS norm in one pass as an operation graph of cuDNN 8.5 and later.
#pragma once

#include "calibrate/cudnn/operation_graph.h"
#include "graph/ir/kernel.h"

namespace plimsoll {

// Each row of the kernel's by itself, with a scale (and a bias) for each column, as a framework
// trains: forward keeps each row's statistics in 32 bits, backward reads them. On the GPU of a
// handle, where there is one. Throws CudnnRefusal, also for other norms.
OperationGraph norm_graph(const CudnnFunctions& cudnn, const KernelAt& kernel,
                          cudnnHandle_t handle = nullptr);

}  // namespace plimsoll
