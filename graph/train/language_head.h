// LanguageHead: the end of a network that makes scores of classes of hidden states, which a loss
// can run itself, of some positions at a time.
#pragma once

#include <optional>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/ir/recipe.h"

namespace plimsoll {

struct LanguageHead {
  // The linear layer; behind it come its adapter and operators of its scores alone, to the end.
  NodeId first = 0;
  TensorId hidden = kNoTensor, weight = kNoTensor, scores = kNoTensor;
  bool plain = true;  // the scores are the product alone, with a weight that is stored as it is
};

// Of what the network gives out first. Nothing where that is not made so, or where others read the
// scores or make something behind them. Cost: constant.
std::optional<LanguageHead> find_language_head(const Graph& graph,
                                               const std::vector<TensorId>& outputs);

// Whether the recipe's loss makes scores itself, of parts of the positions: where the whole head is
// on this device.
bool loss_runs_head(const Recipe& recipe);

// The head that it runs: a loss that is one function with the product takes no other.
std::optional<LanguageHead> head_of_loss(const Recipe& recipe, const Graph& graph,
                                         const std::vector<TensorId>& outputs);

}  // namespace plimsoll
