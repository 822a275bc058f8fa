// Exporters of inference graphs drop dropout. Where the user says that training has it, it is put
// back where frameworks' own networks have it: after attention's softmax, at the end of residual
// branches, after embeddings, before heads. What the file's names tell decides where layers of one
// shape differ (T5 and torch.nn.Transformer drop inside their MLPs, BERT and GPT-2 do not).
#pragma once

#include <string>

#include "graph/ir/graph.h"

namespace plimsoll {

struct AssumedDropout {
  size_t attention = 0;   // after a softmax, or inside a fused attention
  size_t branches = 0;    // linear layers that end a residual branch
  size_t inner = 0;       // activations between the two linear layers of such a branch
  size_t embeddings = 0;  // embedded tokens
  size_t recurrent = 0;   // between recurrent layers and what reads them
  size_t heads = 0;       // what the last layer reads
  bool has_own = false;   // the graph writes dropout itself: left as it is

  size_t total() const { return attention + branches + inner + embeddings + recurrent + heads; }
};

// Rewrites a recovered graph in place; node ids change, tensor ids do not. A graph that has a
// Dropout node already keeps its own. `ratio` in (0, 1). Cost: a few visits per node.
AssumedDropout assume_dropout(Graph& graph, double ratio);

// "after 12 softmaxes, 24 residual branches": for the estimate's basis.
std::string describe(const AssumedDropout& assumed);

}  // namespace plimsoll
