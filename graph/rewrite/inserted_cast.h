// Casts that an exporter has dropped, put back.
#pragma once

#include "graph/rewrite/editor.h"

namespace plimsoll {

// `value`, of known shape, in single precision, by a new node just before `before`.
TensorId widened(Rewrite& rewrite, NodeId before, TensorId value);
// The same back in the type that it was.
TensorId narrowed(Rewrite& rewrite, NodeId before, TensorId value);

}  // namespace plimsoll
