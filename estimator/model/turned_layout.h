// Whether a compiler lays a network's images out with channels last, whatever the program gives it.
#pragma once

#include "graph/ir/graph.h"
#include "graph/ir/recipe.h"

namespace plimsoll {

// As Inductor decides for a program of fixed sizes (torch/_inductor/graph.py, decide_layout_opt):
// in training unless a convolution has groups of several channels or halves its channels, or all
// are small; in a forward pass alone where its factors for each kind of convolution, weighed by
// operations, come to less than one. `graph` is inferred; sizes are read at `binding`.
bool turns_channels_last(const Graph& graph, Mode mode, const Binding& binding);

}  // namespace plimsoll
