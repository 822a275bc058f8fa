// Hugging Face's Trainer: TrainingArguments as its to_json_string() writes them, or a YAML of the
// same keys; with the arguments of a model that scripts keep in the same file. TRL's SFTConfig and
// ModelConfig, and LLaMA-Factory's arguments, are more keys of the same file.
#include <fmt/format.h>

#include "estimator/app/trainer_files/evaluation_keys.h"
#include "estimator/app/trainer_files/shared_words.h"
#include "estimator/app/trainer_files/trainer_program.h"
#include "estimator/app/trainer_files/trainer_settings.h"
#include "graph/base/setting.h"

namespace plimsoll {
namespace {

using Use = TrainerKey::Use;
using Others = TrainerKey::Others;

constexpr TrainerWord kFactoryNf4[] = {{"true", "nf4"}, {"false", ""}};
constexpr TrainerWord kFactoryNf4Double[] = {{"true", "nf4-double"}, {"false", ""}};

constexpr std::string_view kSeveralPasses = "a step of more than one model or pass";

constexpr TrainerKey kHfKeys[] = {
    {"model_name_or_path", "model", {}, Use::kModel},
    {"per_device_train_batch_size", "batch"},
    {"gradient_accumulation_steps", "accumulate"},
    {"max_seq_length", "dim.sequence"},
    {"max_length", "dim.sequence", {}, Use::kElse},
    {"torch_dtype", "precision", kDtypes, Use::kElse},
    {"dtype", "precision", kDtypes, Use::kElse},
    {"bf16", "precision", kAmpBf16, Use::kOneOf},
    {"fp16", "precision", kAmpFp16, Use::kOneOf},
    {"tf32", "precision", kTf32, Use::kElse},
    {"optim", "optimizer", kOptimizers},
    {"optim", kPaged, kPagedOptimizers, Use::kUnmodelled},
    {"eval_strategy", "", {}, Use::kComposed},
    {"evaluation_strategy", "", {}, Use::kComposed},
    {"per_device_eval_batch_size", "", {}, Use::kComposed},
    {"eval_accumulation_steps", "", {}, Use::kComposed},
    {"batch_eval_metrics", "", {}, Use::kComposed},
    {"prediction_loss_only", "", {}, Use::kComposed},
    {"weight_decay", "weight-decay"},
    {"max_grad_norm", "clip-grad-norm"},
    {"gradient_checkpointing", "checkpoint", kBlocksWords},
    {"gradient_checkpointing_kwargs.use_reentrant", "use-reentrant"},
    {"activation_offloading", "offload", kOffloadsActivations, Use::kJoins},
    {"torch_compile", "compile"},
    {"torch_compile_mode", "cuda-graphs", kGraphs, Use::kSets, Others::kSilent},
    {"use_liger_kernel", "loss-form", kFusedLinearWords},
    {"use_liger", "loss-form", kFusedLinearWords},
    {"attn_implementation", "attention", kImplementations},
    {"dataloader_num_workers", "workers", kUnlessZero, Use::kSets, Others::kAsWritten},
    // TRL's ModelConfig (trl/trainer/model_config.py).
    {"use_bnb_nested_quant", "quantize", kFactoryNf4Double},
    {"load_in_4bit", "quantize", kFactoryNf4, Use::kElse},
    {"load_in_8bit", "quantize", kInt8Words, Use::kElse},
    {"load_in_4bit", "finetune", kQloraWords},
    {"use_peft", "finetune", kLoraWords, Use::kElse},
    {"lora_r", "lora-rank"},
    {"lora_alpha", "lora-alpha"},
    {"lora_dropout", "lora-dropout"},
    {"lora_target_modules", "lora-targets"},
    {"lora_modules_to_save",
     "whole modules that are trained in addition to adapters",
     {},
     Use::kRefused},
    {"use_dora", "the norms of DoRA", {}, Use::kRefused},
    // transformers, trainer_pt_utils.py, LabelSmoother: it reads logarithms of all probabilities.
    {"label_smoothing_factor", "a loss that keeps the logits twice", {}, Use::kRefused},
    // Configs of TRL's other trainers (trl/trainer/dpo_config.py, kto_config.py, cpo_config.py,
    // grpo_config.py, ppo_config.py, reward_config.py).
    {"beta", kSeveralPasses, {}, Use::kRefused},
    {"max_prompt_length", kSeveralPasses, {}, Use::kRefused},
    {"desirable_weight", kSeveralPasses, {}, Use::kRefused},
    {"undesirable_weight", kSeveralPasses, {}, Use::kRefused},
    {"cpo_alpha", kSeveralPasses, {}, Use::kRefused},
    {"num_generations", kSeveralPasses, {}, Use::kRefused},
    {"max_completion_length", kSeveralPasses, {}, Use::kRefused},
    {"num_ppo_epochs", kSeveralPasses, {}, Use::kRefused},
    {"response_length", kSeveralPasses, {}, Use::kRefused},
    {"center_rewards_coefficient", kSeveralPasses, {}, Use::kRefused},
    // Sharing.
    {"fsdp", "fsdp", kShards},
    {"fsdp", "zero", kKeepsWeights, Use::kElse, Others::kSilent},
    {"fsdp", kCopies, kShardsInMachines, Use::kUnmodelled},
    {"fsdp", "offload", kOffload, Use::kJoins, Others::kSilent},
    {"deepspeed", "", {}, Use::kDeepSpeed},
};

constexpr std::string_view kHfMarks[] = {"per_device_train_batch_size"};
constexpr std::string_view kTrlMarks[] = {"max_seq_length",     "packing",  "completion_only_loss",
                                          "dataset_text_field", "use_peft", "assistant_only_loss"};

constexpr TrainerWord kFactoryTypes[] = {{"full", ""}, {"lora", "lora"}};
constexpr TrainerWord kFactoryQuantizedTypes[] = {{"4", "qlora"}, {"8", ""}};
constexpr TrainerWord kFactoryQuantizedBits[] = {{"4", ""}, {"8", "int8"}};
constexpr TrainerWord kFactoryAllLinear[] = {{"all", "all-linear"}};
constexpr TrainerWord kFactoryFlash[] = {
    {"auto", ""}, {"disabled", "eager"}, {"sdpa", "sdpa"}, {"fa2", "flash"}, {"fa3", "flash"}};
constexpr TrainerWord kFactoryPure[] = {{"true", "bf16"}, {"false", ""}};
constexpr TrainerWord kFactoryStages[] = {{"rm", ""}, {"ppo", ""}, {"dpo", ""}, {"kto", ""}};

constexpr TrainerKey kFactoryKeys[] = {
    {"stage", kSeveralPasses, kFactoryStages, Use::kRefused},
    {"cutoff_len", "dim.sequence"},
    {"quantization_bit", "finetune", kFactoryQuantizedTypes},
    {"quantization_bit", "quantize", kFactoryQuantizedBits},
    {"finetuning_type", "finetune", kFactoryTypes, Use::kElse},
    {"lora_rank", "lora-rank"},
    {"lora_target", "lora-targets", kFactoryAllLinear, Use::kSets, Others::kAsWritten},
    {"additional_target",
     "whole modules that are trained in addition to adapters",
     {},
     Use::kRefused},
    {"flash_attn", "attention", kFactoryFlash},
    {"enable_liger_kernel", "loss-form", kFusedLinearWords},
    {"pure_bf16", "precision", kFactoryPure},
};
constexpr std::string_view kFactoryMarks[] = {"finetuning_type", "cutoff_len"};

// Weights are in 32 bits where no key has the type they are loaded in.
void note_mixed_precision(TrainerSettings& settings) {
  const std::string precision = settings.text("precision");
  if (!precision.starts_with("amp-")) return;
  settings.add_note(
      fmt::format("{} is mixed precision of weights in 32 bits; {} where they are loaded "
                  "in 16 bits",
                  settings.key_of("precision"),
                  setting("precision", precision.substr(precision.find('-') + 1))));
}

void finish_hugging_face(const JsonValue& root, TrainerSettings& settings) {
  note_mixed_precision(settings);
  keep_loading_of_version("2", settings);
  set_hf_evaluation(root, settings);
}

// llamafactory/model/adapter.py, init_adapter(): weights that are trained are in 32 bits unless
// pure_bf16 is set, frozen ones in the type that they compute in.
void freeze_in_16_bits(const JsonValue& root, TrainerSettings& settings) {
  const bool adapts = settings.text("finetune").ends_with("lora");
  const std::string precision = settings.text("precision");
  if (adapts && precision.starts_with("amp-"))
    settings.replace("precision", precision.substr(precision.find('-') + 1));
  finish_hugging_face(root, settings);
}

}  // namespace

TrainerProgram hf_program() {
  return {"Hugging Face's TrainingArguments",
          "hf",
          kHfMarks,
          {kHfKeys, kFsdpKeys},
          "transformers 5.24, training_args.py; its documentation, main_classes/trainer",
          finish_hugging_face};
}

TrainerProgram trl_program() {
  return {"TRL's SFTConfig",
          "trl",
          kTrlMarks,
          {kHfKeys, kFsdpKeys},
          "trl, trainer/sft_config.py and model_config.py; its documentation, sft_trainer",
          finish_hugging_face};
}

TrainerProgram llama_factory_program() {
  return {"LLaMA-Factory's arguments",
          "hf",
          kFactoryMarks,
          {kFactoryKeys, kHfKeys, kFsdpKeys},
          "LLaMA-Factory, hparams/finetuning_args.py, model_args.py and data_args.py",
          freeze_in_16_bits};
}

}  // namespace plimsoll
