// Workspace of matrix products as PyTorch gives it to cuBLAS, through its allocator.
#pragma once

#include <cstdint>

#include "hwdb/device.h"
#include "hwdb/framework.h"

namespace plimsoll {

struct CublasWorkspace {
  int64_t bytes = 0;
  // One for each thread that multiplies, kept for good; else taken and given back by each product.
  bool stays = true;
};

// Source: aten/src/ATen/cuda/CublasHandlePool.cpp; asked of PyTorch 2.15 (8,519,680 B before
// capability 9.0, 32 MiB from then on). A release that is not named is taken to keep them, as all
// did before 2.15.
CublasWorkspace cublas_workspace(const FrameworkProfile& framework,
                                 const ComputeCapability& capability);

}  // namespace plimsoll
