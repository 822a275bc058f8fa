// One matrix product as a launch, for the operators that multiply.
#pragma once

#include "graph/eager/machine.h"

namespace plimsoll::eager {

// c [batch, rows, columns] = a [batch, rows, inner] b [batch, inner, columns], of rank 2 or 3.
void launch_gemm(Machine& m, const Value& a, const Value& b, const Value& c, const Dim& batch,
                 const Dim& rows, const Dim& columns, const Dim& inner, bool accumulate);

}  // namespace plimsoll::eager
