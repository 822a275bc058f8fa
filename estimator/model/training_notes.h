// What the answer about a training leaves out.
#pragma once

#include "graph/base/diagnostic.h"
#include "graph/ir/graph.h"
#include "graph/ir/recipe.h"

namespace plimsoll {

// W239 where matrices are quantized and nothing adapts them; N530 where several outputs are summed.
// `loss_chosen`: by who asks of a file that holds no loss.
Diagnostics training_notes(const Graph& graph, const Recipe& recipe, bool loss_chosen);

}  // namespace plimsoll
