// network_loss: the loss of what a network gave, as the program computes it.
#pragma once

#include "graph/eager/lm_loss.h"
#include "graph/eager/machine.h"
#include "graph/ir/training_plan.h"
#include "graph/parallel/tensor_split.h"
#include "graph/train/forward.h"

namespace plimsoll {

// The network's own losses, else the recipe's on each float output but caches of keys and values.
// `split`: of which of them this rank has a part of the classes. E260 where it has none.
// `returned` is told scores that the loss itself makes of the network's last hidden states.
Result<eager::Value> network_loss(eager::Machine& m, Forward& values, const PlannedNetwork& network,
                                  const parallel::TensorSplit& split,
                                  const eager::Returned& returned);

// Recipe::score_metrics of the scores that the network gave, which it still holds: the cross
// entropy of 32-bit copies, one after the other.
void take_metrics(eager::Machine& m, Forward& values, const PlannedNetwork& network);

}  // namespace plimsoll
