// Words and keys that several training programs share.
#pragma once

#include "estimator/app/trainer_files/trainer_program.h"

namespace plimsoll {

inline constexpr TrainerWord kUnlessZero[] = {{"0", ""}};
inline constexpr TrainerWord kUnlessAuto[] = {{"auto", ""}};
inline constexpr TrainerWord kBlocksWords[] = {{"true", "blocks"}, {"false", "none"}};
inline constexpr TrainerWord kLoraWords[] = {{"true", "lora"}, {"false", ""}};
inline constexpr TrainerWord kQloraWords[] = {{"true", "qlora"}, {"false", ""}};
inline constexpr TrainerWord kInt8Words[] = {{"true", "int8"}, {"false", ""}};
inline constexpr TrainerWord kAmpBf16[] = {{"true", "amp-bf16"}, {"false", ""}, {"auto", ""}};
inline constexpr TrainerWord kAmpFp16[] = {{"true", "amp-fp16"}, {"false", ""}, {"auto", ""}};
inline constexpr TrainerWord kTf32[] = {{"true", "tf32"}, {"false", ""}};
inline constexpr TrainerWord kFusedLinearWords[] = {{"true", "fused-linear"}, {"false", ""}};
inline constexpr TrainerWord kDtypes[] = {{"bfloat16", "bf16"}, {"bf16", "bf16"},
                                          {"float16", "fp16"},  {"fp16", "fp16"},
                                          {"float32", ""},      {"auto", ""}};
inline constexpr TrainerWord kReduceWords[] = {{"float32", "fp32"},  {"fp32", "fp32"},
                                               {"bfloat16", "bf16"}, {"bf16", "bf16"},
                                               {"float16", "fp16"},  {"fp16", "fp16"}};
inline constexpr TrainerWord kImplementations[] = {
    {"eager", "eager"},
    {"sdpa", "sdpa"},
    {"flash_attention_2", "flash"},
    {"flash_attention_3", "flash"},
    {"kernels-community/flash-attn2", "flash"},
    {"kernels-community/flash-attn3", "flash"},
};
inline constexpr TrainerWord kGraphs[] = {{"reduce-overhead", "on"}, {"max-autotune", "on"}};

// transformers 5.24, training_args.py, OptimizerNames, and those of axolotl
// (axolotl/utils/schemas/enums.py, CustomSupportedOptimizers): those that an optimizer here is.
inline constexpr TrainerWord kOptimizers[] = {
    {"adamw_torch", "adamw"},
    {"adamw_torch_fused", "adamw-fused"},
    {"adamw_apex_fused", "adamw-fused"},
    {"adamw_hf", "adamw-loop"},
    {"adamw_torch_8bit", "adam8bit"},
    {"adamw_bnb_8bit", "adam8bit"},
    {"adamw_8bit", "adam8bit"},
    {"ao_adamw_8bit", "adam8bit"},
    {"paged_adamw_8bit", "adam8bit"},
    {"paged_adamw_32bit", "adamw-fused"},
    {"paged_adamw", "adamw-fused"},
    {"adafactor", "adafactor"},
    {"sgd", "sgd"},
    {"adagrad", "adagrad"},
    {"rmsprop", "rmsprop"},
    {"lion_32bit", "lion"},
    {"paged_lion_32bit", "lion"},
    {"muon", "muon"},
};
// bitsandbytes' GlobalPageManager: states are in memory that the driver moves between GPU and host.
inline constexpr TrainerWord kPagedOptimizers[] = {{"paged_adamw_8bit", ""},
                                                   {"paged_adamw_32bit", ""},
                                                   {"paged_adamw", ""},
                                                   {"paged_lion_32bit", ""}};
inline constexpr std::string_view kPaged =
    "optimizer states that move to the host's memory when the GPU's is full; they are counted on "
    "the GPU";
inline constexpr TrainerWord kHostStates[] = {{"cpu", "states"}, {"none", ""}, {"nvme", ""}};
inline constexpr TrainerWord kHostWeights[] = {{"cpu", "parameters"}, {"none", ""}, {"nvme", ""}};
inline constexpr TrainerWord kOnDisk[] = {{"nvme", ""}, {"disk", ""}, {"offload_disk", ""}};
inline constexpr std::string_view kToDisk = "a disk; what it has is counted on the GPU";
inline constexpr TrainerWord kOffloadsWeights[] = {{"true", "parameters"}, {"false", ""}};
inline constexpr TrainerWord kOffloadsActivations[] = {
    {"true", "activations"}, {"legacy", "activations"}, {"disk", ""}, {"false", ""}};

// FSDP in the words of accelerate (utils/dataclasses.py, FullyShardedDataParallelPlugin; its config
// writes each with "fsdp_" in front) and transformers (training_args.py, fsdp_config).
inline constexpr TrainerWord kShards[] = {{"true", "all"},
                                          {"full_shard", "all"},
                                          {"shard_grad_op", "all"},
                                          {"hybrid_shard", "all"},
                                          {"hybrid_shard_zero2", "all"},
                                          {"no_shard", ""},
                                          {"auto_wrap", ""},
                                          {"offload", ""},
                                          {"false", ""}};
inline constexpr TrainerWord kKeepsWeights[] = {{"shard_grad_op", "2"},
                                                {"hybrid_shard_zero2", "2"},
                                                {"false", "2"},  // reshard_after_forward
                                                {"2", "2"},      // enumerators of FSDP1's
                                                {"5", "2"}};
inline constexpr TrainerWord kShardsInMachines[] = {
    {"hybrid_shard", ""}, {"hybrid_shard_zero2", ""}, {"4", ""}, {"5", ""}};
inline constexpr TrainerWord kOffload[] = {{"offload", "parameters"}};
inline constexpr TrainerWord kShardsNothing[] = {{"no_shard", ""}, {"3", ""}};
inline constexpr std::string_view kWholeWeights = "FSDP that shards nothing (NO_SHARD)";
inline constexpr TrainerWord kOff[] = {{"false", ""}};
inline constexpr TrainerWord kFromFirst[] = {{"true", "broadcast"}, {"false", ""}};
inline constexpr TrainerWord kFromFirstOrEach[] = {{"true", "broadcast"}, {"false", "units"}};
inline constexpr TrainerWord kOneUnit[] = {{"no_wrap", ""}};
inline constexpr TrainerWord kUnitsBySize[] = {{"size_based_wrap", ""}};
inline constexpr TrainerWord kGathersLate[] = {
    {"no_prefetch", ""}, {"backward_post", ""}, {"2", ""}};
inline constexpr std::string_view kCopies =
    "a copy of what is sharded in each machine; its number of GPUs is 'zero-group'";

inline constexpr TrainerKey kFsdpKeys[] = {
    {"fsdp_config.version", "fsdp-version"},
    {"fsdp_config.reshard_after_forward", "zero", kKeepsWeights, TrainerKey::Use::kElse,
     TrainerKey::Others::kSilent},
    {"fsdp_config.sharding_strategy", "zero", kKeepsWeights, TrainerKey::Use::kElse,
     TrainerKey::Others::kSilent},
    {"fsdp_config.sharding_strategy", kCopies, kShardsInMachines, TrainerKey::Use::kUnmodelled},
    {"fsdp_config.reshard_after_forward", kCopies, kShardsInMachines, TrainerKey::Use::kUnmodelled},
    {"fsdp_config.offload_params", "offload", kOffloadsWeights, TrainerKey::Use::kJoins},
    {"fsdp_config.cpu_offload", "offload", kOffloadsWeights, TrainerKey::Use::kJoins},
    {"fsdp_config.activation_checkpointing", "checkpoint", kBlocksWords, TrainerKey::Use::kElse},
    {"fsdp_config.activation_checkpointing_offload", "offload", kOffloadsActivations,
     TrainerKey::Use::kJoins},
    {"fsdp_config.cpu_ram_efficient_loading", "load", kFromFirst},
    {"fsdp_config.sync_module_states", "load", kFromFirstOrEach, TrainerKey::Use::kElse},
    {"fsdp_config.sharding_strategy", kWholeWeights, kShardsNothing, TrainerKey::Use::kRefused},
    {"fsdp_config.reshard_after_forward", kWholeWeights, kShardsNothing, TrainerKey::Use::kRefused},
    {"fsdp_config.auto_wrap_policy", "one unit of all layers, which is gathered whole", kOneUnit,
     TrainerKey::Use::kRefused},
    {"fsdp_config.auto_wrap_policy", "units by their size; Plimsoll assumes one for each block",
     kUnitsBySize, TrainerKey::Use::kUnmodelled},
    {"fsdp_config.backward_prefetch",
     "Plimsoll assumes that FSDP 1 gathers one unit ahead (BACKWARD_PRE)", kGathersLate,
     TrainerKey::Use::kUnmodelled},
    {"fsdp_config.forward_prefetch",
     "the next unit is gathered earlier in the forward pass",
     {},
     TrainerKey::Use::kUnmodelled},
    {"fsdp_config.limit_all_gathers", "units are gathered without a limit", kOff,
     TrainerKey::Use::kRefused},
    {"fsdp_config.ignored_modules", "modules that are not sharded", {}, TrainerKey::Use::kRefused},
};

}  // namespace plimsoll
