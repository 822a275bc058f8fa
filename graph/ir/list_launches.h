// Kernels over lists of tensors, as PyTorch launches them
// (aten/src/ATen/native/cuda/MultiTensorApply.cuh, 2.9).
#pragma once

#include <cstdint>
#include <span>

#include "graph/symbol/dim.h"

namespace plimsoll {

// How often: a launch takes so many tensors, by the lists that it is handed and whether each tensor
// has a number of its own, and so many chunks of them. `counts`: elements of each tensor of one
// list; a symbol's count as one chunk. `lists`: from 1 to 5.
int64_t list_launches(std::span<const Dim> counts, size_t lists, bool scalars);

// Of the whole, what one of so many equal launches takes; the first takes what is left over too.
Dim share_of_launch(const Dim& whole, int64_t launches, bool first);

}  // namespace plimsoll
