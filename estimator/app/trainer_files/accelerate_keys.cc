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

constexpr TrainerKey kAccelerateKeys[] = {
    {"num_processes", "gpus"},
    {"num_machines", "nodes", kAccelerateOne, Use::kSets, Others::kAsWritten},
    {"mixed_precision", "precision", kAcceleratePrecisions},
    {"distributed_type", "fsdp", kAccelerateTypes, Use::kSets, Others::kSilent},
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
    {"parallelism_config.parallelism_config_tp_size", "tp"},
    {"parallelism_config.parallelism_config_cp_size", "cp"},
};

constexpr std::string_view kAccelerateMarks[] = {"compute_environment", "distributed_type"};

// The file counts processes of all machines, the setting those of one.
void share_processes(const JsonValue&, TrainerSettings& settings) {
  const auto machines = parse_number<int64_t>(settings.text("nodes"));
  const auto processes = parse_number<int64_t>(settings.text("gpus"));
  if (machines && processes && *machines > 0 && *processes % *machines == 0)
    settings.replace("gpus", std::to_string(*processes / *machines));
}

}  // namespace

TrainerProgram accelerate_program() {
  return {"accelerate's config",
          "",
          kAccelerateMarks,
          {kAccelerateKeys, kFsdpKeys},
          "accelerate 1.15, commands/config/config_args.py and utils/dataclasses.py; "
          "its documentation, package_reference/cli",
          share_processes};
}

}  // namespace plimsoll
