// What a file leaves open, and how much memory hangs on it.
#pragma once

#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/exporter/weight_roles.h"
#include "graph/ir/graph.h"

namespace plimsoll {

// What else a file leaves open, and how many bytes less or more a training step keeps where it is
// not as it was taken to be.
struct OpenQuestions {
  Dim less, more;
  Diagnostics warnings;  // W237, one for each kind
  bool names = false;    // how long the code's names hold values: it lists no lines of the code
};

// Whether a leaky ReLU runs in place; whether a region that a tracer took out of the model's code
// is torch.no_grad()'s; whether a mask that the network makes is given to its attention; whether a
// maximum gives positions too; whether an array in arithmetic is a buffer. Of a recovered graph
// that does not tell itself. Cost: linear in the graph.
OpenQuestions open_questions(const Graph& graph, const std::vector<WeightRole>& kinds);

}  // namespace plimsoll
