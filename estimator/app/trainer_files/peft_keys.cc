// peft's LoraConfig, which its adapters keep as adapter_config.json.
#include "estimator/app/trainer_files/shared_words.h"
#include "estimator/app/trainer_files/trainer_program.h"

namespace plimsoll {
namespace {

using Use = TrainerKey::Use;
using Others = TrainerKey::Others;

constexpr TrainerWord kPeftKinds[] = {{"lora", "lora"}};
constexpr TrainerWord kPeftBiases[] = {{"all", ""}, {"lora_only", ""}};

constexpr TrainerKey kPeftKeys[] = {
    {"base_model_name_or_path", "model", {}, Use::kModel},
    {"peft_type", "finetune", kPeftKinds},
    {"r", "lora-rank"},
    {"lora_alpha", "lora-alpha"},
    {"lora_dropout", "lora-dropout"},
    {"target_modules", "lora-targets"},
    {"modules_to_save",
     "whole modules that are trained in addition to adapters",
     {},
     Use::kRefused},
    {"trainable_token_indices", "rows of an embedding that are trained", {}, Use::kRefused},
    {"target_parameters", "adapters of weights that are no linear layer's", {}, Use::kRefused},
    {"rank_pattern", "ranks that differ between modules", {}, Use::kRefused},
    {"layers_to_transform", "adapters in some of the layers", {}, Use::kUnmodelled},
    {"exclude_modules", "modules without adapters", {}, Use::kUnmodelled},
    {"layer_replication", "layers that are repeated", {}, Use::kRefused},
    {"use_dora", "the norms of DoRA", {}, Use::kRefused},
    {"bias", "biases that are trained in addition to adapters", kPeftBiases, Use::kUnmodelled,
     Others::kSilent},
    {"lora_bias", "biases of adapters", {}, Use::kUnmodelled},
    // Of how adapters are begun, scaled, saved or merged.
    {"alpha_pattern", "", {}, Use::kComposed},
    {"auto_mapping", "", {}, Use::kComposed},
    {"fan_in_fan_out", "", {}, Use::kComposed},
    {"inference_mode", "", {}, Use::kComposed},
    {"init_lora_weights", "", {}, Use::kComposed},
    {"peft_version", "", {}, Use::kComposed},
    {"revision", "", {}, Use::kComposed},
    {"task_type", "", {}, Use::kComposed},
    {"use_rslora", "", {}, Use::kComposed},
};

constexpr std::string_view kPeftMarks[] = {"peft_type"};

}  // namespace

TrainerProgram peft_program() {
  return {"peft's LoraConfig",
          "",
          kPeftMarks,
          {kPeftKeys},
          "peft 0.21.2, tuners/lora/config.py; its documentation, package_reference/lora"};
}

}  // namespace plimsoll
