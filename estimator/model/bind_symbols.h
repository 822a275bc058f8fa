// Values of a model's symbols: the user's, else the model's own.
#pragma once

#include "estimator/request/request.h"
#include "graph/ir/graph.h"

namespace plimsoll {

// A built-in's batch is 32 where nobody says; `basis` is told. E131 lists what has no value, with
// the settings to give; E237 what is no size.
Result<Binding> bind_symbols(const Graph& graph, const ModelRequest& request, bool builtin,
                             std::vector<std::string>& basis);

}  // namespace plimsoll
