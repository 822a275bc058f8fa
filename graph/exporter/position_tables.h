// Tables of positions, which say how long a sequence may be.
#pragma once

#include <vector>

#include "graph/ir/graph.h"

namespace plimsoll {

// A table of the file of which a node reads the rows 0 .. `positions` - 1, or as many from a fixed
// row on: there must be `positions` of them.
struct PositionTable {
  TensorId table = kNoTensor;
  Dim rows, positions;
};

// In an inferred graph: what is picked by a Range or by a config's places, seen in another shape,
// repeated or moved by a number (GPT-2's wpe; OPT's begins with its third row). Cost: linear in the
// nodes.
std::vector<PositionTable> position_tables(const Graph& graph);

}  // namespace plimsoll
