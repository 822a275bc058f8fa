// substitute: a Dim in which a symbol stands for another size.
#pragma once

#include <string_view>

#include "graph/symbol/shape.h"

namespace plimsoll {

//   substitute(Dim::symbol("s") * 2 + 1, "s", floor_div(Dim::symbol("s"), 4))  // 2*floor(s/4) + 1
// Cost: linear in the Dim's atoms.
Dim substitute(const Dim& in, std::string_view symbol, const Dim& by);
Shape substitute(Shape in, std::string_view symbol, const Dim& by);

}  // namespace plimsoll
