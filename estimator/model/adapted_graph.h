// A graph with the adapters and the quantized weights that fine-tuning asks for.
#pragma once

#include <string>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/ir/graph.h"
#include "graph/ir/recipe.h"
#include "graph/ir/training_plan.h"
#include "graph/rewrite/finetune.h"

namespace plimsoll {

// Weights beside quantized ones may stay in 32 bits; all of them, or norms alone.
bool stays_wide(const Finetune& finetune);

// In place; returns what was made of it, in sentences for the basis. `losses` are of what outputs
// are then. Errors as add_adapters().
Result<std::vector<std::string>> adapt(Graph& graph, const Recipe& recipe,
                                       const AdapterNames& names, std::vector<OutputLoss>& losses);

}  // namespace plimsoll
