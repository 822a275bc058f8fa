// exchanged: a tensor that the devices along an axis make together, as an operator of the forward
// pass: differentiable, and waited for where it stands.
#pragma once

#include "graph/eager/machine.h"

namespace plimsoll::eager {

// What a collective of `kind` makes of `x` along the axis, of these sizes; it is of the larger of
// both, and the gradient comes back by `back`.
//
//   all = exchanged(m, x, sizes, Axis::kData, CollectiveKind::kAllGather,
//                   CollectiveKind::kReduceScatter);
Value exchanged(Machine& m, const Value& x, const Shape& sizes, Axis axis, CollectiveKind kind,
                CollectiveKind back);

}  // namespace plimsoll::eager
