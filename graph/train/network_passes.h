// Passes over the networks of a step: one behind another, without gradients before the trained one,
// and the pass that a gradient penalty adds.
#pragma once

#include <vector>

#include "graph/eager/machine.h"
#include "graph/ir/training_plan.h"
#include "graph/train/forward.h"

namespace plimsoll {

using Networks = std::vector<const PlannedNetwork*>;

// What the networks' callers read of the graph, and what the stages before these made.
std::vector<TensorId> returned_by(const Graph& graph, const TrainingPlan& plan);
std::vector<TensorId> received_by(const TrainingPlan& plan);

// What one network made becomes another's first inputs.
void feed(Forward& forward, const PlannedNetwork& network, const std::vector<eager::Value>& made);

// Forward through each, fed by the one before; autocast stays on for what follows.
void run_networks(eager::Machine& machine, Forward& forward, const Networks& chain);

// The networks before the trained one, without gradients: what the last of them makes.
std::vector<eager::Value> run_ahead(eager::Machine& machine, Forward& forward,
                                    const Networks& ahead);

// From `root`, whose gradient is made. `kept`, `put_off`: as Machine::backward().
void backward_from(eager::Machine& machine, const eager::Value& root,
                   std::vector<eager::Value>* kept = nullptr,
                   eager::Machine::PutOff* put_off = nullptr);

// Gulrajani et al., arXiv:1704.00028, algorithm 1: the gradient of the network's output by its
// input, at points between real and made ones, is kept differentiable; its distance from norm 1
// is a loss, whose backward pass goes once more through that gradient and the forward pass. The
// second derivative of a convolution costs what its first does; those of ReLUs vanish. `real`: the
// network's input as the loader brings it. The network's output, which outlives the pass.
eager::Value penalize_gradient(eager::Machine& machine, Forward& forward,
                               const PlannedNetwork& network, const eager::Value& real);

}  // namespace plimsoll
