// torchtune's YAML, a recipe's config.
#include <algorithm>
#include <string>

#include "estimator/app/trainer_files/evaluation_keys.h"
#include "estimator/app/trainer_files/shared_words.h"
#include "estimator/app/trainer_files/trainer_program.h"
#include "estimator/app/trainer_files/trainer_settings.h"
#include "graph/base/escape.h"
#include "graph/base/text.h"
#include "graph/json/value.h"

namespace plimsoll {
namespace {

using Use = TrainerKey::Use;
using Others = TrainerKey::Others;

// torchtune/models, _model_builders.py: what sizes a builder has, as Hugging Face calls them.
constexpr TrainerWord kTorchtuneBuilders[] = {
    {"llama2_7b", "meta-llama/Llama-2-7b-hf"},
    {"llama2_13b", "meta-llama/Llama-2-13b-hf"},
    {"llama2_70b", "meta-llama/Llama-2-70b-hf"},
    {"code_llama2_34b", "codellama/CodeLlama-34b-hf"},
    {"llama3_8b", "meta-llama/Meta-Llama-3-8B"},
    {"llama3_70b", "meta-llama/Meta-Llama-3-70B"},
    {"llama3_1_8b", "meta-llama/Llama-3.1-8B"},
    {"llama3_1_70b", "meta-llama/Llama-3.1-70B"},
    {"llama3_1_405b", "meta-llama/Llama-3.1-405B"},
    {"llama3_2_1b", "meta-llama/Llama-3.2-1B"},
    {"llama3_2_3b", "meta-llama/Llama-3.2-3B"},
    {"mistral_7b", "mistralai/Mistral-7B-v0.1"},
    {"gemma_2b", "google/gemma-2b"},
    {"gemma_7b", "google/gemma-7b"},
    {"gemma2_2b", "google/gemma-2-2b"},
    {"gemma2_9b", "google/gemma-2-9b"},
    {"phi3_mini", "microsoft/Phi-3-mini-4k-instruct"},
    {"qwen2_5_3b", "Qwen/Qwen2.5-3B"},
    {"qwen2_5_7b_base", "Qwen/Qwen2.5-7B"},
    {"qwen2_5_7b_instruct", "Qwen/Qwen2.5-7B"},
    {"qwen2_5_14b_base", "Qwen/Qwen2.5-14B"},
    {"qwen2_5_14b_instruct", "Qwen/Qwen2.5-14B"},
    {"qwen2_5_32b_base", "Qwen/Qwen2.5-32B"},
    {"qwen2_5_32b_instruct", "Qwen/Qwen2.5-32B"},
    {"qwen3_4b_base", "Qwen/Qwen3-4B"},
    {"qwen3_4b_instruct", "Qwen/Qwen3-4B"},
    {"qwen3_8b_base", "Qwen/Qwen3-8B"},
    {"qwen3_8b_instruct", "Qwen/Qwen3-8B"},
    {"qwen3_14b_base", "Qwen/Qwen3-14B"},
    {"qwen3_14b_instruct", "Qwen/Qwen3-14B"},
    {"qwen3_32b", "Qwen/Qwen3-32B"},
};

constexpr TrainerWord kTorchtuneModules[] = {
    {"q_proj", "q_proj"}, {"k_proj", "k_proj"}, {"v_proj", "v_proj"}, {"output_proj", "o_proj"}};
constexpr TrainerWord kTorchtuneOfMlp[] = {{"true", "gate_proj,up_proj,down_proj"}, {"false", ""}};
constexpr TrainerWord kTorchtuneOfHead[] = {{"true", "lm_head"}, {"false", ""}};
constexpr TrainerWord kTorchtuneTypes[] = {{"bf16", "bf16"}, {"fp16", "fp16"}, {"fp32", "fp32"}};
constexpr TrainerWord kTorchtuneComponents[] = {
    {"torch.optim.adamw", "adamw"},
    {"torch.optim.adam", "adam"},
    {"torch.optim.sgd", "sgd"},
    {"bitsandbytes.optim.adamw8bit", "adam8bit"},
    {"bitsandbytes.optim.pagedadamw8bit", "adam8bit"},
    {"bitsandbytes.optim.pagedadamw", "adamw-fused"},
    {"torchao.optim.adamw8bit", "adam8bit"},
    {"torchao.prototype.low_bit_optim.adamw8bit", "adam8bit"}};
constexpr TrainerWord kTorchtunePagedComponents[] = {{"bitsandbytes.optim.pagedadamw8bit", ""},
                                                     {"bitsandbytes.optim.pagedadamw", ""}};
constexpr TrainerWord kTorchtuneLosses[] = {
    {"torch.nn.crossentropyloss", "operators"},
    {"torchtune.modules.loss.cewithchunkedoutputloss", "chunked"},
    {"torchtune.modules.loss.linearcrossentropyloss", "chunked-linear"}};
constexpr TrainerWord kTorchtuneEvery[] = {
    {"1", "blocks"}, {"2", "blocks/2"}, {"3", "blocks/3"}, {"4", "blocks/4"}, {"op", "operators"}};
constexpr TrainerWord kTorchtuneAll[] = {{"true", "all"},
                                         {"false", "all"}};  // recipes of several GPUs
constexpr TrainerWord kTorchtuneKeeps[] = {{"false", "2"}, {"true", ""}};
constexpr TrainerWord kTorchtuneOne[] = {{"1", ""}};

constexpr TrainerKey kTorchtuneKeys[] = {
    {"model._component_", "", {}, Use::kComposed},
    {"model.quantize_base", "finetune", kQloraWords},
    {"model.lora_rank", "lora-rank"},
    {"model.lora_alpha", "lora-alpha"},
    {"model.lora_dropout", "lora-dropout"},
    {"model.lora_attn_modules", "lora-targets", kTorchtuneModules, Use::kJoins},
    {"model.apply_lora_to_mlp", "lora-targets", kTorchtuneOfMlp, Use::kJoins},
    {"model.apply_lora_to_output", "lora-targets", kTorchtuneOfHead, Use::kJoins},
    {"model.use_dora", "the norms of DoRA", {}, Use::kRefused},
    {"tokenizer.max_seq_len", "dim.sequence"},
    {"batch_size", "batch"},
    {"gradient_accumulation_steps", "accumulate"},
    {"dtype", "precision", kTorchtuneTypes},
    {"optimizer._component_", "optimizer", kTorchtuneComponents},
    {"optimizer._component_", kPaged, kTorchtunePagedComponents, Use::kUnmodelled},
    {"optimizer.fused", "", {}, Use::kComposed},
    {"optimizer.foreach", "", {}, Use::kComposed},
    {"optimizer.weight_decay", "weight-decay"},
    {"optimizer_in_bwd",
     "an update of each weight as soon as its gradient is there; all gradients are counted",
     {},
     Use::kUnmodelled},
    {"loss._component_", "loss-form", kTorchtuneLosses},
    {"loss.num_output_chunks", "loss-chunks"},
    {"clip_grad_norm", "clip-grad-norm"},
    {"run_val_every_n_steps", "", {}, Use::kComposed},
    {"batch_size_val", "", {}, Use::kComposed},
    {"ac_option", "checkpoint", kTorchtuneEvery},
    {"enable_activation_checkpointing", "checkpoint", kBlocksWords, Use::kElse},
    {"enable_activation_offloading", "offload", kOffloadsActivations, Use::kJoins},
    {"compile", "compile"},
    {"fsdp_cpu_offload", "fsdp", kTorchtuneAll},
    {"fsdp_cpu_offload", "offload", kOffloadsWeights, Use::kJoins},
    {"fsdp_reshard_after_forward", "fsdp", kTorchtuneAll, Use::kElse},
    {"fsdp_reshard_after_forward", "zero", kTorchtuneKeeps},
    {"tensor_parallel_dim", "tp", kTorchtuneOne, Use::kSets, Others::kAsWritten},
    {"context_parallel_dim", "cp", kTorchtuneOne, Use::kSets, Others::kAsWritten},
};

constexpr std::string_view kTorchtuneMarks[] = {"model._component_", "optimizer._component_"};

std::string text_at(const JsonValue& root, std::string_view key, std::string_view member) {
  const JsonValue* const inner = root.find(key);
  const JsonValue* const value = inner ? inner->find(member) : nullptr;
  return value && value->string() ? *value->string() : "";
}

bool is_at(const JsonValue& root, std::string_view key, std::string_view member,
           std::string_view word, bool flag) {
  const JsonValue* const inner = root.find(key);
  const JsonValue* const value = inner ? inner->find(member) : nullptr;
  return value &&
         (value->boolean() == flag || (value->string() && lower_case(*value->string()) == word));
}

// "torchtune.models.llama3_1.qlora_llama3_1_8b": what is trained, and of which model.
void read_builder(const JsonValue& root, TrainerSettings& settings) {
  const std::string path = text_at(root, "model", "_component_");
  std::string_view builder = path;
  builder.remove_prefix(builder.rfind('.') + 1);
  for (const std::string_view kind : {"qlora", "lora"}) {
    if (!builder.starts_with(kind) || builder.substr(kind.size(), 1) != "_") continue;
    builder.remove_prefix(kind.size() + 1);
    if (settings.text("finetune").empty())
      settings.add("finetune", std::string(kind), "model._component_");
    break;
  }
  const auto* const known = std::ranges::find(kTorchtuneBuilders, builder, &TrainerWord::written);
  if (known != std::end(kTorchtuneBuilders)) settings.model = known->text;
}

// PyTorch's optimizers update weights together, in one kernel or one after the other.
void read_kernels(const JsonValue& root, TrainerSettings& settings) {
  const std::string optimizer = settings.text("optimizer");
  if (!text_at(root, "optimizer", "_component_").starts_with("torch.optim.")) return;
  if (optimizer.empty()) return;
  if (is_at(root, "optimizer", "fused", "true", true)) {
    settings.replace("optimizer", optimizer + "-fused");
  } else if (is_at(root, "optimizer", "foreach", "false", false)) {
    settings.replace("optimizer", optimizer + "-loop");
  }
}

void read_components(const JsonValue& root, TrainerSettings& settings) {
  read_builder(root, settings);
  read_kernels(root, settings);
  set_torchtune_evaluation(root, settings);
}

}  // namespace

TrainerProgram torchtune_program() {
  return {
      "torchtune's config",
      "torchtune",
      kTorchtuneMarks,
      {kTorchtuneKeys},
      "torchtune, recipes/configs/llama3_1 (8B_lora_single_device.yaml at 14857d88, 8B_full.yaml "
      "at 04781656); docs.pytorch.org/torchtune/stable/"
      "deep_dives/configs.html",
      read_components};
}

}  // namespace plimsoll
