// Tensor.masked_scatter: rows of one tensor put where a mask says, as image features into a
// sequence of embedded tokens.
#pragma once

#include "graph/eager/machine.h"

namespace plimsoll::eager {

// x [..], `mask` (bool, broadcast to x), the elements of `source` in their order. As many elements
// are masked as `source` has.
Value masked_scatter(Machine& m, const Value& x, const Value& mask, const Value& source);

}  // namespace plimsoll::eager
