// axolotl's YAML.
#include <string>

#include "estimator/app/trainer_files/evaluation_keys.h"
#include "estimator/app/trainer_files/shared_words.h"
#include "estimator/app/trainer_files/trainer_program.h"
#include "estimator/app/trainer_files/trainer_settings.h"
#include "graph/json/value.h"

namespace plimsoll {
namespace {

using Use = TrainerKey::Use;
using Others = TrainerKey::Others;

constexpr TrainerWord kAxolotlAdapters[] = {{"lora", "lora"}, {"qlora", "qlora"}};
constexpr TrainerWord kAxolotlLinear[] = {{"true", "all-linear"}, {"false", ""}};
// axolotl/utils/config/__init__.py, resolve_dtype(): weights are loaded in the 16 bits that are
// computed in.
constexpr TrainerWord kAxolotlBf16[] = {
    {"true", "bf16"}, {"auto", "bf16"}, {"full", "bf16"}, {"false", ""}};
constexpr TrainerWord kAxolotlFp16[] = {{"true", "fp16"}, {"false", ""}};
constexpr TrainerWord kAxolotlCheckpoints[] = {
    {"true", "blocks"},         {"unsloth", "blocks"},     {"offload", "blocks"},
    {"offload_disk", "blocks"}, {"offload_cpu", "blocks"}, {"false", "none"}};
constexpr TrainerWord kAxolotlOffloadedCheckpoints[] = {
    {"unsloth", "activations"}, {"offload", "activations"}, {"offload_cpu", "activations"}};
constexpr TrainerWord kAxolotlFlash[] = {{"true", "flash"}, {"false", ""}};
constexpr TrainerWord kAxolotlSdpa[] = {{"true", "sdpa"}, {"false", ""}};
constexpr TrainerWord kAxolotlEager[] = {{"true", "eager"}, {"false", ""}};
constexpr TrainerWord kAxolotlCompiles[] = {{"true", "on"}, {"auto", "on"}, {"false", ""}};
constexpr TrainerWord kAxolotlOne[] = {{"1", ""}};

constexpr TrainerKey kAxolotlKeys[] = {
    {"base_model", "model", {}, Use::kModel},
    {"sequence_len", "dim.sequence"},
    {"micro_batch_size", "batch"},
    {"gradient_accumulation_steps", "accumulate"},
    {"load_in_4bit", "finetune", kQloraWords},
    {"adapter", "finetune", kAxolotlAdapters, Use::kElse},
    {"load_in_8bit", "quantize", kInt8Words},
    {"lora_r", "lora-rank"},
    {"lora_alpha", "lora-alpha"},
    {"lora_dropout", "lora-dropout"},
    {"lora_target_linear", "lora-targets", kAxolotlLinear},
    {"lora_target_modules", "lora-targets", {}, Use::kElse},
    {"lora_modules_to_save",
     "whole modules that are trained in addition to adapters",
     {},
     Use::kRefused},
    {"peft_layers_to_transform", "adapters in some of the layers", {}, Use::kUnmodelled},
    {"peft_use_dora", "the norms of DoRA", {}, Use::kRefused},
    {"unfrozen_parameters", "weights that are trained, by patterns", {}, Use::kUnmodelled},
    {"rl", "a step of more than one model or pass", {}, Use::kRefused},
    {"reward_model", "another loss than that of next tokens", {}, Use::kRefused},
    {"bf16", "precision", kAxolotlBf16, Use::kOneOf},
    {"bfloat16", "precision", kAxolotlBf16, Use::kOneOf},
    {"fp16", "precision", kAxolotlFp16, Use::kOneOf},
    {"float16", "precision", kAxolotlFp16, Use::kOneOf},
    {"tf32", "precision", kTf32, Use::kElse},
    {"optimizer", "optimizer", kOptimizers},
    {"optimizer", kPaged, kPagedOptimizers, Use::kUnmodelled},
    {"weight_decay", "weight-decay"},
    {"max_grad_norm", "clip-grad-norm"},
    {"gradient_checkpointing", "checkpoint", kAxolotlCheckpoints},
    {"gradient_checkpointing", "offload", kAxolotlOffloadedCheckpoints, Use::kJoins,
     Others::kSilent},
    {"gradient_checkpointing", kToDisk, kOnDisk, Use::kUnmodelled},
    {"gradient_checkpointing_kwargs.use_reentrant", "use-reentrant"},
    {"activation_offloading", "offload", kOffloadsActivations, Use::kJoins},
    {"activation_offloading", kToDisk, kOnDisk, Use::kUnmodelled},
    {"torch_compile", "compile", kAxolotlCompiles},
    {"torch_compile_mode", "cuda-graphs", kGraphs, Use::kSets, Others::kSilent},
    {"attn_implementation", "attention", kImplementations},
    {"flash_attention", "attention", kAxolotlFlash, Use::kElse},
    {"sdp_attention", "attention", kAxolotlSdpa, Use::kElse},
    {"eager_attention", "attention", kAxolotlEager, Use::kElse},
    {"xformers_attention", "attention", kAxolotlFlash, Use::kElse},
    {"liger_fused_linear_cross_entropy", "loss-form", kFusedLinearWords},
    {"cut_cross_entropy", "loss-form", kFusedLinearWords, Use::kElse},
    {"dataloader_num_workers", "workers", kUnlessZero, Use::kSets, Others::kAsWritten},
    {"tensor_parallel_size", "tp", kAxolotlOne, Use::kSets, Others::kAsWritten},
    {"context_parallel_size", "cp", kAxolotlOne, Use::kSets, Others::kAsWritten},
    {"dp_shard_size", "fsdp", kAxolotlOne, Use::kSets, Others::kAsWritten},
    {"fsdp", "fsdp", kShards, Use::kElse},
    {"fsdp", "zero", kKeepsWeights, Use::kElse, Others::kSilent},
    {"fsdp", "offload", kOffload, Use::kJoins, Others::kSilent},
    {"fsdp_version", "fsdp-version"},
    {"val_set_size", "", {}, Use::kComposed},
    {"test_datasets", "", {}, Use::kComposed},
    {"eval_strategy", "", {}, Use::kComposed},
    {"evaluation_strategy", "", {}, Use::kComposed},
    {"eval_steps", "", {}, Use::kComposed},
    {"evals_per_epoch", "", {}, Use::kComposed},
    {"eval_batch_size", "", {}, Use::kComposed},
    {"deepspeed", "", {}, Use::kDeepSpeed},
};

constexpr std::string_view kAxolotlMarks[] = {"base_model"};

// A config of FSDP asks for it.
void shard_by_config(const JsonValue& root, TrainerSettings& settings) {
  const JsonValue* const config = root.find("fsdp_config");
  const bool there = config && config->members() && !config->members()->empty();
  if (there && settings.text("fsdp").empty()) settings.add("fsdp", "all", "fsdp_config");
}

void finish_axolotl(const JsonValue& root, TrainerSettings& settings) {
  shard_by_config(root, settings);
  keep_loading_of_version("2", settings);
  set_axolotl_evaluation(root, settings);
}

}  // namespace

TrainerProgram axolotl_program() {
  return {
      "axolotl's config",
      "hf",
      kAxolotlMarks,
      {kAxolotlKeys, kFsdpKeys},
      "axolotl, utils/schemas (fsdp.py at 06dcd85d, peft.py at 00564c8f, training.py at 002a637c) "
      "and utils/config/__init__.py at 00ce8882; docs.axolotl.ai/docs/config-reference.html",
      finish_axolotl};
}

}  // namespace plimsoll
