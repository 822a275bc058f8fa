// Einstein sums.
#pragma once

#include <span>
#include <string>

#include "graph/eager/machine.h"

namespace plimsoll::eager {

// sum over what `out` does not name of the product of `operands`, each with a letter for each of
// its dimensions: einsum(m, {a, b}, {"bij", "bjk"}, "bik"). The letters fit, as the shape rule has
// seen. The result may be a view of what the last product made, its dimensions in another order.
Value einsum(Machine& m, std::span<const Value> operands, std::span<const std::string> letters,
             const std::string& out);

}  // namespace plimsoll::eager
