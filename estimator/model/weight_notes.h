// What there is to say of a model's weights: those that rules or nobody trains, and what a file
// leaves in doubt.
#pragma once

#include <string>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/exporter/weight_roles.h"
#include "graph/ir/graph.h"
#include "graph/ir/recipe.h"
#include "graph/rewrite/recover.h"

namespace plimsoll {

struct WeightNotes {
  std::vector<std::string> basis;
  Diagnostics warnings;
  // Of what a file leaves open: bytes that a step may take less or more, and how long the code's
  // names hold values (CompiledModel::names_until).
  Dim open_less, open_more;
  std::vector<NodeId> names_until;
};

// `recovered`: of an ONNX file's graph; none of a model that leaves nothing to guess.
WeightNotes weight_notes(const Graph& graph, const std::vector<WeightRole>& roles,
                         const Recipe& recipe, const RecoverReport* recovered);

}  // namespace plimsoll
