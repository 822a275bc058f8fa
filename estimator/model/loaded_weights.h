// LoadedWeights: what of a compiled model's weights comes to the card before the first step.
#pragma once

#include <vector>

#include "estimator/model/compiled_model.h"
#include "estimator/request/weight_loading.h"

namespace plimsoll {

struct LoadedWeights {
  std::vector<TensorId> whole;   // stay as this rank's operators use them
  std::vector<TensorId> parted;  // ranks share them: none has the whole while nothing computes
};

// Cost: linear in the graph's tensors.
LoadedWeights loaded_weights(const CompiledModel& model);

// Whether more comes to the card than stays. Of a recorded step nothing is known.
bool loads_more(const CompiledModel& model, WeightLoading how);

}  // namespace plimsoll
