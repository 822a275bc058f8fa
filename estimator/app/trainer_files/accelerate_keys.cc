// accelerate's YAML, as `accelerate config` writes it.
#include <string>

#include "estimator/app/trainer_files/shared_words.h"
#include "estimator/app/trainer_files/trainer_program.h"
#include "estimator/app/trainer_files/trainer_settings.h"
#include "graph/base/text.h"

namespace plimsoll {
namespace {

using Use = TrainerKey::Use;
using Others = TrainerKey::Others;

constexpr TrainerWord kAccelerateTypes[] = {{"fsdp", "all"}};
constexpr TrainerWord kAcceleratePrecisions[] = {
    {"no", ""}, {"bf16", "amp-bf16"}, {"fp16", "amp-fp16"}, {"fp8", "mixed-fp8"}};
constexpr TrainerWord kAccelerateBackends[] = {{"no", ""}, {"eager", ""}};
constexpr TrainerWord kAccelerateOne[] = {{"1", ""}};
constexpr TrainerWord kRotations[] = {{"allgather", "allgather"}, {"alltoall", "ring"}};
constexpr TrainerWord kDistributedOptimizer[] = {{"true", "1"}, {"false", ""}};
// accelerate/utils/deepspeed.py and accelerator.py, _prepare_deepspeed(): without zero.Init the
// engine moves the whole model to the GPU.
constexpr TrainerWord kLoadedBefore[] = {{"true", ""}, {"false", "whole"}};

constexpr TrainerKey kAccelerateKeys[] = {
    {"num_processes", "gpus"},
    {"num_machines", "nodes", kAccelerateOne, Use::kSets, Others::kAsWritten},
    {"mixed_precision", "precision", kAcceleratePrecisions},
    {"parallelism_config.parallelism_config_dp_shard_size", "fsdp", kAccelerateOne, Use::kSets,
     Others::kAsWritten},
    {"distributed_type", "fsdp", kAccelerateTypes, Use::kElse, Others::kSilent},
    {"use_cpu", "training without a GPU", {}, Use::kUnmodelled},
    {"dynamo_config.dynamo_backend", "compile", kAccelerateBackends, Use::kSets,
     Others::kAsWritten},
    {"deepspeed_config.zero_stage", "zero", kUnlessZero, Use::kSets, Others::kAsWritten},
    {"deepspeed_config.gradient_accumulation_steps", "accumulate"},
    {"deepspeed_config.gradient_clipping", "clip-grad-norm"},
    {"deepspeed_config.offload_optimizer_device", "offload", kHostStates, Use::kJoins},
    {"deepspeed_config.offload_optimizer_device", kToDisk, kOnDisk, Use::kUnmodelled},
    {"deepspeed_config.offload_param_device", "offload", kHostWeights, Use::kJoins},
    {"deepspeed_config.offload_param_device", kToDisk, kOnDisk, Use::kUnmodelled},
    {"deepspeed_config.deepspeed_config_file", "", {}, Use::kDeepSpeed},
    {"deepspeed_config.zero3_init_flag", "load", kLoadedBefore},
    {"parallelism_config.parallelism_config_tp_size", "tp", kAccelerateOne, Use::kSets,
     Others::kAsWritten},
    {"parallelism_config.parallelism_config_cp_size", "cp", kAccelerateOne, Use::kSets,
     Others::kAsWritten},
    {"parallelism_config.parallelism_config_cp_comm_strategy", "cp-kind", kRotations},
    {"megatron_lm_config.megatron_lm_tp_degree", "tp", kAccelerateOne, Use::kSets,
     Others::kAsWritten},
    {"megatron_lm_config.megatron_lm_pp_degree", "pp", kAccelerateOne, Use::kSets,
     Others::kAsWritten},
    {"megatron_lm_config.megatron_lm_num_micro_batches", "micro-batches", kAccelerateOne,
     Use::kSets, Others::kAsWritten},
    {"megatron_lm_config.megatron_lm_sequence_parallelism", "sequence-parallel"},
    {"megatron_lm_config.megatron_lm_use_distributed_optimizer", "zero", kDistributedOptimizer},
    {"megatron_lm_config.megatron_lm_recompute_activations",
     "attention that is computed again",
     {},
     Use::kUnmodelled},
    {"megatron_lm_config.megatron_lm_gradient_clipping", "clip-grad-norm", kUnlessZero, Use::kSets,
     Others::kAsWritten},
};

constexpr std::string_view kAccelerateMarks[] = {"compute_environment", "distributed_type"};

// The file counts processes of all machines, the setting those of one.
void share_processes(const JsonValue&, TrainerSettings& settings) {
  const auto machines = parse_number<int64_t>(settings.text("nodes"));
  const auto processes = parse_number<int64_t>(settings.text("gpus"));
  if (machines && processes && *machines > 0 && *processes % *machines == 0)
    settings.replace("gpus", std::to_string(*processes / *machines));
}

// accelerate/commands/launch.py, --fsdp_version: 1.
void finish_accelerate(const JsonValue& root, TrainerSettings& settings) {
  share_processes(root, settings);
  const JsonValue* const config = root.find("fsdp_config");
  const bool shards = !settings.text("fsdp").empty() && config && config->members();
  if (shards && settings.text("fsdp-version").empty())
    settings.add("fsdp-version", "1", "fsdp_config");
  if (shards) keep_loading_of_version("1", settings);
  if (!shards && settings.text("zero") != "3") settings.remove("load");
}

}  // namespace

TrainerProgram accelerate_program() {
  return {"accelerate's config",
          "",
          kAccelerateMarks,
          {kAccelerateKeys, kFsdpKeys},
          "accelerate 1.15, commands/config/config_args.py and utils/dataclasses.py; "
          "its documentation, package_reference/cli",
          finish_accelerate};
}

}  // namespace plimsoll
