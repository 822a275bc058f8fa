// Rows of one tensor put where a mask says, or added there, as image features into a sequence of
// tokens.
#pragma once

#include "graph/eager/machine.h"

namespace plimsoll::eager {

// x [..], `mask` (bool, broadcast to x), the elements of `source` in their order. As many elements
// are masked as `source` has.
Value masked_scatter(Machine& m, const Value& x, const Value& mask, const Value& source);

// A copy of x to whose masked rows those of `source` are added: y = x.clone(), y[mask] = y[mask] +
// source (transformers 5.24, models/qwen3_vl/modeling_qwen3_vl.py, _deepstack_process()). `mask`
// has a number for each row.
Value masked_add(Machine& m, const Value& x, const Value& mask, const Value& source);

}  // namespace plimsoll::eager
