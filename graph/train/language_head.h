// LanguageHead: the end of a network that makes scores of classes of hidden states, which a loss
// can run itself, of some positions at a time.
#pragma once

#include <optional>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/ir/recipe.h"

namespace plimsoll {

struct LanguageHead {
  NodeId first = 0;  // the linear layer; behind it come operators of its scores alone, to the end
  TensorId hidden = kNoTensor, weight = kNoTensor, scores = kNoTensor;
};

// Of what the network gives out first. Nothing where that is not made so, or where others read the
// scores or make something behind them. Cost: linear in the nodes behind the layer.
std::optional<LanguageHead> find_language_head(const Graph& graph,
                                               const std::vector<TensorId>& outputs);

// Whether the recipe's loss makes scores itself, of parts of the positions: where the whole head is
// on this device.
bool loss_runs_head(const Recipe& recipe);

}  // namespace plimsoll
