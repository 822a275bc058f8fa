// reduction_workspace: the scratch memory of PyTorch's reductions over the rows of a matrix, such
// as the gradient of a linear layer's bias. Where many blocks share a column each writes its part
// to memory that the kernel asks the allocator for itself, so that no dispatch on fake tensors sees
// it.
//
// Source: setReduceConfig and ReduceConfig::global_memory_size in aten/src/ATen/native/cuda/
// Reduce.cuh; equal to what PyTorch 2.11 took on an H200 (37.1 MiB for 6304 x 768 numbers of 32
// bits, 73.9 MiB for 12608 x 768 of 16).
#pragma once

#include <cstdint>

#include "hwdb/device.h"

namespace plimsoll {

// Bytes of what a block hands to the others: a sum in 32 bits ...
inline constexpr int64_t kSumAccumulator = 4;
// ... a value with its position, or what a variance is made of (Welford's mean, squares, counts).
inline constexpr int64_t kWideAccumulator = 16;

// Bytes, for `columns` results of `rows` numbers each that lie a row apart. 0 where no block
// shares.
int64_t reduction_workspace(int64_t rows, int64_t columns, const Device& device,
                            int64_t accumulator = kSumAccumulator);

}  // namespace plimsoll
