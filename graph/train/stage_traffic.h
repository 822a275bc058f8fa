// StageTraffic: what a pipeline's stage is given and gives away of one micro-batch, forward and
// back.
#pragma once

#include <vector>

#include "graph/eager/machine.h"
#include "graph/ir/training_plan.h"
#include "graph/train/forward.h"

namespace plimsoll {

class StageTraffic {
 public:
  // Values of the stage before, in memory of their own; their gradients go back to it.
  void receive(eager::Machine& machine, Forward& forward, const PlannedNetwork& network);
  // The network's outputs without their memory: it is the next stage's now.
  void send(eager::Machine& machine, Forward& forward, const PlannedNetwork& network);
  // From the gradients that the next stage gives, to those that the one before wants. `put_off`:
  // for finish_backward().
  void backward(eager::Machine& machine, eager::Machine::PutOff* put_off = nullptr) const;
  void send_back(eager::Machine& machine) const;

 private:
  std::vector<eager::GradNodeRef> given_;  // where gradients of what was received come to
  std::vector<eager::Value> sent_;
};

// What stages that have the same weights tell each other behind a step's last backward pass: two of
// them, as the first has the table of tokens and the last a head that is the same.
void sum_tied(eager::Machine& machine, Forward& forward, const std::vector<TensorId>& tied);

}  // namespace plimsoll
