// What each node of the graph costs: bytes it is responsible for, work and time of its launches.
#pragma once

#include <vector>

#include "estimator/answer/estimate.h"
#include "estimator/memory/timeline.h"
#include "estimator/model/compiled_model.h"
#include "estimator/time/kernel_price.h"

namespace plimsoll {

// One entry per node that does work or holds bytes, in graph order, then "(loss)" where the loss
// keeps something. Sums over the entries are the totals of the estimate: parameters and weights
// exactly, feature maps in the allocator's granules. `bound`: the model's step at `binding`.
std::vector<LayerEstimate> layers_of(const CompiledModel& model, const BoundStep& bound,
                                     const Binding& binding, int64_t granule,
                                     const std::vector<KernelPrice>& prices);

// Every kept tensor with its keeper, its maker and the rule, largest first.
std::vector<KeptTensor> kept_of(const CompiledModel& model, const BoundStep& bound,
                                int64_t granule);

}  // namespace plimsoll
