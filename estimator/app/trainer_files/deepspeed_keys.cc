// DeepSpeed's JSON. "auto" is what transformers fills in from its own arguments
// (transformers/integrations/deepspeed.py).
#include <fmt/format.h>

#include <string>

#include "estimator/app/trainer_files/shared_words.h"
#include "estimator/app/trainer_files/trainer_program.h"
#include "estimator/app/trainer_files/trainer_settings.h"
#include "graph/base/setting.h"
#include "graph/json/value.h"

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
constexpr TrainerWord kUnlessNegative[] = {{"-1", ""}, {"auto", ""}};
constexpr TrainerWord kWideSums[] = {{"fp32", ""}, {"float32", ""}};
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
    {"zero_optimization.mics_shard_size", "zero-group", kUnlessNegative, Use::kSets,
     Others::kAsWritten},
    {"zero_optimization.reduce_bucket_size", "zero-bucket", kUnlessAuto, Use::kSets,
     Others::kAsWritten},
    {"zero_optimization.overlap_comm", "gradients are summed during the backward pass", kOff,
     Use::kUnmodelled},
    {"zero_optimization.contiguous_gradients", "gradients that are not copied to a bucket", kOff,
     Use::kUnmodelled},
    {"zero_optimization.zero_quantized_weights",
     "weights that are gathered in 8 bits",
     {},
     Use::kUnmodelled},
    {"zero_optimization.zero_quantized_gradients",
     "gradients that are sent in 4 bits",
     {},
     Use::kUnmodelled},
    {"data_types.grad_accum_dtype", "gradients that are summed in 32 bits", kWideSums,
     Use::kRefused},
    {"torch_autocast.enabled", "autocast over weights in 32 bits", {}, Use::kRefused},
    {"amp.enabled", "apex's mixed precision", {}, Use::kRefused},
    {"activation_checkpointing.cpu_checkpointing",
     "inputs of blocks in the host's memory",
     {},
     Use::kUnmodelled},
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

// transformers/integrations/deepspeed.py, trainer_config_finalize(): of the model's hidden size.
void note_auto(const JsonValue& root, TrainerSettings& settings) {
  const JsonValue* const zero = root.find("zero_optimization");
  const JsonValue* const bucket =
      zero && zero->members() ? zero->find("reduce_bucket_size") : nullptr;
  const std::string* const written = bucket ? bucket->string() : nullptr;
  if (!written || *written != "auto") return;
  settings.add_note(fmt::format(
      "reduce_bucket_size auto is DeepSpeed's 500 million here; Hugging Face's Trainer sets the "
      "square of the hidden size: {} where it is 4096",
      setting("zero-bucket", "16777216")));
}

// Files have them whatever the stage is.
void keep_of_stage(const JsonValue& root, TrainerSettings& settings) {
  note_auto(root, settings);
  if (settings.text("zero").empty()) settings.remove("zero-bucket");
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
