// Values of a model's symbols: the user's, else the model's own.
#pragma once

#include "estimator/request/request.h"
#include "graph/ir/graph.h"

namespace plimsoll {

// A built-in's batch is 32 where nobody says; `basis` is told. E131 lists what has no value, with
// the settings to give; E237 what is no size; E114 for two flags that give one size differently,
// and as check_longest().
Result<Binding> bind_symbols(const Graph& graph, const ModelRequest& request, bool builtin,
                             std::vector<std::string>& basis);

// E114 where the largest batch is to be shorter than the model's usual one. For who asks of the
// largest batch alone (at_longest()): `request` is the one before that.
Result<void> check_longest(const Graph& graph, const ModelRequest& request);

}  // namespace plimsoll
