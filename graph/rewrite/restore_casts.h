// restore_casts(): the casts around an expression that its source line writes, where an exporter
// has dropped them.
#pragma once

#include <cstddef>

#include "graph/ir/graph.h"

namespace plimsoll {

// A line such as
//   scores = F.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
// computes in single precision what it is given in 16 bits, and goes back. PyTorch's newer exporter
// writes the line beside each of its nodes (NodeNotes::casts), but no cast that changes nothing in
// a model of single precision. Such statements get both; returns how many. One that goes up and not
// back, or the other way, stays as it is: the other half stands on a line of its own, which no node
// tells. Code under a torch.autocast of its own comes through a tracer, whose lines name each value
// that a cast made: it computes in single precision where they say so, mixed precision or not.
// `graph` must have been inferred. Cost: linear.
size_t restore_casts(Graph& graph);

}  // namespace plimsoll
