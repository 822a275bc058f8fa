// What code that runs along a sequence in chunks has in common.
#pragma once

#include "graph/eager/machine.h"

namespace plimsoll::eager {

// torch.nn.functional.pad at the end of an axis, forward and backward a copy, also of nothing
// (constant_pad_nd, ATen/native/PadNd.cpp). A longer one is contiguous.
Value padded(Machine& m, const Value& x, size_t axis, const Dim& length);
// A number in place of what the mask covers: a copy of its own, in order (masked_fill,
// ATen/native/TensorAdvancedIndexing.cpp); the mask is kept.
Value masked_fill(Machine& m, const Value& x, const Value& mask);
Value exponential(Machine& m, const Value& x);
// A number of the host in the type of `like`.
Value scalar_like(Machine& m, const Value& like);

}  // namespace plimsoll::eager
