// Copies of parameters in a wider type, which the optimizer updates in place of them: masters of
// models in 16 bits.
#pragma once

#include <vector>

#include "graph/eager/machine.h"

namespace plimsoll::eager {

// What this device updates of a parameter.
TensorType updated_part(const GradNode& leaf);
// What the optimizer updates of a parameter: its own copy of another type, where it has one.
TensorType updated_type(const Recipe& recipe, const TensorType& parameter);
// Whether that copy is beside the parameter; else the part that is kept of a sharded one is of that
// type, and what is gathered is cast (MixedPrecisionPolicy.param_dtype).
bool copies_masters(const Recipe& recipe);
// Whether gradients are cast for it at the update.
bool casts_gradients(const Recipe& recipe);
// Whether the optimizer updates arrays that weights of a type are joined to (DeepSpeed,
// runtime/zero/stage_1_and_2.py: single_partition_of_fp32_groups; InternLM/InternEvo,
// solver/optimizer/hybrid_zero_optim.py: _fp32_flat_param_groups_of_current_rank).
bool updates_flat_arrays(const Recipe& recipe);
// The type in which a device keeps its part of a parameter. What is frozen beside quantized weights
// stays as it was loaded: those cannot be cast (accelerate/utils/fsdp_utils.py 1.12,
// fsdp2_prepare_model(): model_has_params4bit).
DType kept_type(const Recipe& recipe, DType dtype, bool trained);

// What a parameter's gradient is at the update.
TensorType gradient_type(const Machine& m, const GradNode& leaf);

// Gradients go to the type of the copies, as one array; DeepSpeed joins them first
// (deepspeed/runtime/zero/stage_1_and_2.py, step()). Those of FSDP's parts go one by one. Those of
// 16 bits that are left.
std::vector<Value> cast_gradients(Machine& m);
// Gradients that were just made, unscaled, into those of the copies: made by the first pass.
void add_to_masters(Machine& m, std::vector<Value>& masters);
// The copies' new values go to the model's weights: _master_params_to_model_params().
void copy_masters(Machine& m);

}  // namespace plimsoll::eager
