// What bringing weights to the card takes before the first step, as the allocator sees it.
//
// Weights that no library shards have nothing beside them unless the program puts it there. One
// that shards joins or cuts weights that are whole on the card:
// - FSDP1 (torch/distributed/fsdp/_init_utils.py and _flat_param.py, 2.15): weights of a unit come
//   one by one, torch.cat() makes their array, the rank's part is copied, the array and they go.
//   Before the first forward pass each array is allocated and freed once more, and where parts are
//   of another type once in that type too (init_flat_param_attributes()).
// - FSDP2 (torch/distributed/fsdp/_fully_shard/_fsdp_param.py, _init_sharded_param(), 2.15): parts
//   of a unit's weights are copied one by one, then all of its whole weights go.
// - DeepSpeed (deepspeed/runtime/zero/partition_parameters.py, partition(), 0.16): weight by
// weight.
#pragma once

#include "estimator/memory/device_memory.h"
#include "estimator/memory/memory_estimate.h"
#include "estimator/memory/timeline.h"
#include "estimator/model/compiled_model.h"
#include "estimator/request/weight_loading.h"

namespace plimsoll {

// ReplayInput::loading, where the residents of `input` are the model's. Empty unless loads_more().
// Cost: linear in the graph.
std::vector<StepEvent> loading_events(const CompiledModel& model, const Binding& binding,
                                      WeightLoading how, const ReplayInput& input);

// Most that is alive in it, in the allocator's granules.
int64_t loading_peak(const ReplayInput& input, int64_t rounding);

// Fills in `memory.loading`, whose replay and peak are known, and what `memory` has of the peak
// where loading holds it.
void set_loading(WeightLoading how, MemoryEstimate& memory);

}  // namespace plimsoll
