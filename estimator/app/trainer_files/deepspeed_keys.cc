// DeepSpeed's JSON. "auto" is what transformers fills in from its own arguments
// (transformers/integrations/deepspeed.py).
#include "estimator/app/trainer_files/shared_words.h"
#include "estimator/app/trainer_files/trainer_program.h"
#include "estimator/app/trainer_files/trainer_settings.h"

namespace plimsoll {
namespace {

using Use = TrainerKey::Use;
using Others = TrainerKey::Others;

constexpr TrainerWord kDeepSpeedStages[] = {{"0", ""}, {"auto", ""}};
constexpr TrainerWord kDeepSpeedBf16[] = {{"true", "mixed-bf16"}, {"false", ""}, {"auto", ""}};
constexpr TrainerWord kDeepSpeedFp16[] = {{"true", "mixed-fp16"}, {"false", ""}, {"auto", ""}};
// deepspeed/runtime/engine.py, _configure_basic_optimizer(): FusedAdam, one kernel an update.
constexpr TrainerWord kDeepSpeedTypes[] = {{"adam", "adamw-fused"}, {"adamw", "adamw-fused"},
                                           {"lion", "lion"},        {"lamb", "lamb"},
                                           {"sgd", "sgd"},          {"muon", "muon"}};
constexpr TrainerWord kDeepSpeedHost[] = {{"true", "states"}, {"false", ""}};

constexpr TrainerKey kDeepSpeedKeys[] = {
    {"train_micro_batch_size_per_gpu", "batch", kUnlessAuto, Use::kSets, Others::kAsWritten},
    {"train_batch_size", "", kUnlessAuto, Use::kPerUpdate},
    {"gradient_accumulation_steps", "accumulate", kUnlessAuto, Use::kSets, Others::kAsWritten},
    {"gradient_clipping", "clip-grad-norm", kUnlessAuto, Use::kSets, Others::kAsWritten},
    {"zero_optimization.stage", "zero", kDeepSpeedStages, Use::kSets, Others::kAsWritten},
    {"zero_optimization.offload_optimizer.device", "offload", kHostStates, Use::kJoins},
    {"zero_optimization.offload_optimizer.device", kToDisk, kOnDisk, Use::kUnmodelled},
    {"zero_optimization.offload_param.device", "offload", kHostWeights, Use::kJoins},
    {"zero_optimization.offload_param.device", kToDisk, kOnDisk, Use::kUnmodelled},
    {"zero_optimization.cpu_offload", "offload", kDeepSpeedHost, Use::kJoins},
    {"zero_optimization.zero_hpz_partition_size",
     "a second copy of weights in each machine",
     {},
     Use::kComposed},
    {"zero_optimization.stage3_prefetch_bucket_size", "zero-prefetch", kUnlessAuto, Use::kSets,
     Others::kAsWritten},
    {"zero_optimization.prefetch_bucket_size", "zero-prefetch", kUnlessAuto, Use::kElse,
     Others::kAsWritten},
    {"zero_optimization.stage3_max_live_parameters", "zero-live", kUnlessAuto, Use::kSets,
     Others::kAsWritten},
    {"zero_optimization.max_live_parameters", "zero-live", kUnlessAuto, Use::kElse,
     Others::kAsWritten},
    {"zero_optimization.stage3_param_persistence_threshold", "zero-persistent", kUnlessAuto,
     Use::kSets, Others::kAsWritten},
    {"zero_optimization.param_persistence_threshold", "zero-persistent", kUnlessAuto, Use::kElse,
     Others::kAsWritten},
    {"communication_data_type", "reduce-dtype", kReduceWords},
    {"bf16.enabled", "precision", kDeepSpeedBf16, Use::kOneOf},
    {"fp16.enabled", "precision", kDeepSpeedFp16, Use::kOneOf},
    {"optimizer.type", "optimizer", kDeepSpeedTypes},
    {"tensor_parallel.autotp_size", "tp", kUnlessZero, Use::kSets, Others::kAsWritten},
};

constexpr std::string_view kDeepSpeedMarks[] = {
    "zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size",
    "zero_allow_untested_optimizer"};

// Files have them whatever the stage is.
void keep_of_stage(const JsonValue&, TrainerSettings& settings) {
  if (settings.text("zero") == "3") return;
  for (const char* name : {"zero-prefetch", "zero-live", "zero-persistent"}) settings.remove(name);
}

}  // namespace

TrainerProgram deepspeed_program() {
  return {"DeepSpeed's config",
          "",
          kDeepSpeedMarks,
          {kDeepSpeedKeys},
          "deepspeed, runtime/config.py and zero/config.py; deepspeed.ai/docs/config-json",
          keep_of_stage};
}

}  // namespace plimsoll
