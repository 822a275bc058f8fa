// Systems of equations with triangular matrices.
#pragma once

#include "graph/eager/machine.h"

namespace plimsoll::eager {

// The x of a x = b, a [..., M, M] with ones on its diagonal, b [..., M, K]: torch.linalg's
// solve_triangular, whose result lies column by column. Keeps the matrix and its result.
Value solve_triangular(Machine& m, const Value& a, const Value& b);

}  // namespace plimsoll::eager
