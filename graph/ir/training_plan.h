// TrainingPlan: which networks of a graph a step trains, in which order, and with which losses.
// Most models are one network trained once; adversarial ones train two in turn.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/ir/recipe.h"
#include "graph/ir/weight_role.h"

namespace plimsoll {

struct OutputLoss {
  Loss kind = Loss::kCrossEntropy;
  TensorId output = kNoTensor;
  bool narrow = false;  // where a loss copies scores (Recipe::shifts_scores), in the type they have
};

// Nodes [first, last) of a graph.
struct PlannedNetwork {
  std::string name;  // empty where there is one only
  NodeId first = 0, last = 0;
  std::vector<TensorId> inputs, outputs;
  std::vector<OutputLoss> losses;  // none: the recipe's, on each float output
  // Of a pipeline's stage, each chunk of which is a network: what the one before sends in each
  // pass, and whether outputs go on to the one behind instead of a loss.
  std::vector<TensorId> received{};
  bool sends = false;
};

struct PlannedPhase {
  size_t trained = 0;                // index of the network that is updated
  std::vector<size_t> forward_only;  // run without gradients first; what they make feeds it
  std::vector<size_t> through;       // run behind it with frozen weights; the last has the loss
  int64_t passes = 1;                // forward and backward before the update: 2 for real and fake
  bool gradient_penalty = false;     // one more pass, which differentiates the input's gradient
  int64_t repeat = 1;
};

struct TrainingPlan {
  std::vector<PlannedNetwork> networks;  // at least one
  std::vector<PlannedPhase> phases;      // at least one
  // Weights that another stage of a pipeline has too, with which it sums their gradients.
  std::vector<TensorId> tied{};
  // Of the graph's tensors, where they are known: else as classify_parameters() finds them.
  std::vector<WeightRole> roles{};
};

// All of `graph` as one network.
TrainingPlan plan_for(const Graph& graph, std::vector<OutputLoss> losses = {});

// Puts `other` behind the nodes of `graph`, its names prefixed by "NAME.", and returns what became
// of it. Both keep their inputs and outputs. Cost: linear in `other`.
PlannedNetwork append_network(Graph& graph, Graph other, const std::string& name,
                              std::vector<OutputLoss> losses);

}  // namespace plimsoll
