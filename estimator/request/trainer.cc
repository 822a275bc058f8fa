#include "estimator/request/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <optional>

#include "graph/base/setting.h"
#include "graph/base/text.h"
#include "hwdb/version.h"

namespace plimsoll {
namespace {

// Of tests/measured/one_gpu and sharded, by tests/accuracy/program_spread.py. What runs little else
// than steps:
constexpr MemorySpread kSteps{
    .less = .18,
    .more = .10,
    .source = "38 of 39 published figures of nanotron, torchtitan, torchao and torchtune"};
// What also loads and gathers weights, evaluates, has batches of other lengths, and decides what
// ranks keep for each other. Seven programs' interval holds 95 % of the eighth's figures.
constexpr MemorySpread kMoreThanSteps{
    .less = .10, .more = .29, .source = "95 % of 266 published figures of eight other programs"};

constexpr TrainerDefault kHuggingFace[] = {{"clip-grad-norm", "1"},
                                           {"optimizer", "adamw-fused"},
                                           {"keep-outputs", "off"},
                                           {"widen-outputs", "accelerate"},
                                           {"load", "broadcast"}};
constexpr TrainerDefault kHuggingFace4[] = {
    {"clip-grad-norm", "1"}, {"optimizer", "adamw"},
    {"keep-outputs", "off"}, {"widen-outputs", "accelerate"},
    {"use-reentrant", "on"}, {"load", "broadcast"},
    {"use-cache", "on"}};
constexpr TrainerDefault kTrl[] = {{"clip-grad-norm", "1"},         {"optimizer", "adamw-fused"},
                                   {"checkpoint", "blocks"},        {"keep-outputs", "off"},
                                   {"widen-outputs", "accelerate"}, {"kbit-prepare", "off"},
                                   {"load", "broadcast"},           {"loss-form", "tiled-linear"}};
// Before 1.7: the model computes its loss, of all logits.
constexpr std::span<const TrainerDefault> kTrl16 = std::span(kTrl).first<std::size(kTrl) - 1>();
constexpr TrainerDefault kTorchtitan[] = {{"clip-grad-norm", "1"},
                                          {"optimizer", "adamw-fused"},
                                          {"checkpoint", "operators"},
                                          {"cp-kind", "allgather"},
                                          {"keep-outputs", "off"}};
constexpr TrainerDefault kTorchtune[] = {
    {"clip-grad-norm", "none"},
    {"optimizer", "adamw-fused"},
    {"precision", "bf16"},
    {"checkpoint", "blocks"},
    {"loss-form", "chunked-linear"},
    {"lora-alpha", "16"},
    {"lora-targets", "q_proj,v_proj,o_proj,gate_proj,up_proj,down_proj"},
    {"lora-upcast", "off"},
    {"kbit-prepare", "off"},
    {"keep-outputs", "off"}};
constexpr TrainerDefault kUnsloth[] = {{"clip-grad-norm", "1"},       {"optimizer", "adam8bit"},
                                       {"checkpoint", "blocks"},      {"loss-form", "fused"},
                                       {"lora-rank", "16"},           {"lora-alpha", "16"},
                                       {"lora-targets", "all-linear"}};
constexpr TrainerDefault kLitgpt[] = {{"clip-grad-norm", "none"},
                                      {"optimizer", "adamw"},
                                      {"lora-alpha", "16"},
                                      {"lora-dropout", "0.05"},
                                      {"lora-targets", "q_proj,v_proj"},
                                      {"lora-upcast", "off"},
                                      {"kbit-prepare", "off"},
                                      {"bitsandbytes", "0.42"},
                                      {"quantizer", "fabric"},
                                      {"lora-form", "litgpt"},
                                      {"no-sync", "on"},
                                      {"lora-in-blocks", "on"},
                                      {"loss-form", "chunked"},
                                      {"widen-outputs", "fabric"},
                                      {"last-outputs", "on"}};

constexpr std::span<const TrainerDefault> kLitgpt2023 =
    std::span(kLitgpt).first<std::size(kLitgpt) - 1>();  // without last-outputs

// Its metrics are LanguageCrossEntropy and LanguagePerplexity, of each micro-batch.
constexpr TrainerDefault kComposer[] = {{"clip-grad-norm", "1"},
                                        {"optimizer", "adamw"},
                                        {"attention", "flash-1"},
                                        {"loss-form", "fused"},
                                        {"score-metrics", "2"}};

// Of March 2024, with transformers 4.38, peft 0.9 and bitsandbytes 0.43: it adds adapters, in the
// type of their layers, and prepares nothing.
constexpr TrainerDefault kFsdpQlora[] = {
    {"clip-grad-norm", "0.3"}, {"optimizer", "adamw"},  {"checkpoint", "blocks"},
    {"lora-rank", "64"},       {"lora-alpha", "16"},    {"lora-dropout", "0.1"},
    {"lora-upcast", "off"},    {"kbit-prepare", "off"}, {"bitsandbytes", "0.43"},
    {"loss-shift", "logits"},  {"load", "broadcast"}};

// Weights of 16 bits with copies in 32 bits. Transformer Engine's kernels for norms, casts, rotary
// positions and SwiGLU are fused, as those of a compiler are, and cuDNN's attention is called.
constexpr TrainerDefault kMegatron[] = {
    {"clip-grad-norm", "1"},     {"optimizer", "adamw-fused"},
    {"precision", "mixed-bf16"}, {"gradient-buffer", "as-ready"},
    {"split-loss", "megatron"},  {"attention", "cudnn"},
    {"compile", "on"},           {"keep-outputs", "off"}};
constexpr TrainerDefault kNanotron[] = {
    {"clip-grad-norm", "1"},     {"optimizer", "adamw-fused"},
    {"precision", "mixed-bf16"}, {"gradient-buffer", "after-pass"},
    {"split-loss", "megatron"},  {"stage-balance", "cost"},
    {"keep-outputs", "off"}};

// Of 2021 to 2023: Megatron-LM's layers in DeepSpeed's engine.
constexpr TrainerDefault kMegatronDeepSpeed[] = {
    {"clip-grad-norm", "1"},    {"optimizer", "adamw-fused"},    {"precision", "mixed-fp16"},
    {"split-loss", "megatron"}, {"attention", "masked-softmax"}, {"keep-outputs", "off"},
    {"zero-grad", "none"}};
// Its BF16_Optimizer adds gradients up in 32 bits, behind each backward pass.
constexpr TrainerDefault kMegatronDeepSpeedBf16[] = {
    {"clip-grad-norm", "1"},     {"optimizer", "adamw-fused"},
    {"precision", "mixed-bf16"}, {"gradient-buffer", "until-next"},
    {"split-loss", "megatron"},  {"attention", "masked-softmax"},
    {"keep-outputs", "off"},     {"zero-grad", "none"}};
// Its HybridZeroOptimizer is stage 1 of ZeRO, its FSDPadaptOptimizer takes FSDP1's parts.
constexpr TrainerDefault kInternEvo[] = {{"clip-grad-norm", "1"}, {"norm-copies", "on"},
                                         {"optimizer", "adamw"},  {"precision", "mixed-bf16"},
                                         {"master-copies", "on"}, {"loss-form", "fused"},
                                         {"use-reentrant", "on"}, {"last-outputs", "on"}};
// With Megatron-Core's layers.
constexpr TrainerDefault kMegatronBridge[] = {
    {"clip-grad-norm", "1"},     {"optimizer", "adamw-fused"},
    {"precision", "mixed-bf16"}, {"gradient-buffer", "as-ready"},
    {"split-loss", "megatron"},  {"attention", "cudnn"},
    {"compile", "on"},           {"tp-overlap", "on"},
    {"keep-outputs", "off"}};

constexpr TrainerRow kTrainers[] = {
    {"hf-4", "Hugging Face's Trainer", kHuggingFace4,
     "transformers 4.30 to 5, training_args.py: default_optim by PyTorch's version; "
     "modeling_utils.py, gradient_checkpointing_enable(): use_reentrant=True; trainer.py, "
     "evaluation_loop(): the model's use_cache; else as hf",
     kMoreThanSteps, "2.8"},
    {"hf", "Hugging Face's Trainer", kHuggingFace,
     "transformers 5.24, training_args.py: max_grad_norm, optim; trainer.py: compute_loss(); "
     "accelerate, utils/dataclasses.py: sync_module_states",
     kMoreThanSteps},
    {"trl-1.6", "TRL's SFTTrainer", kTrl16,
     "trl 0.27 to 1.6, trainer/sft_config.py: gradient_checkpointing; the rest as "
     "TrainingArguments has it; trainer/sft_trainer.py since 0.27 prepares no quantized model",
     kMoreThanSteps},
    {"trl", "TRL's SFTTrainer", kTrl,
     "trl 1.16, trainer/sft_trainer.py: add_fused_lm_head(); else as trl-1.6", kMoreThanSteps},
    {"torchtitan", "torchtitan", kTorchtitan,
     "torchtitan, config/job_config.py: max_norm, optimizer.name and implementation, "
     "context_parallel_rotate_method; "
     "models/llama3/config_registry.py: SelectiveAC; its loss in parts of 2026 is left out; "
     "train.py: "
     "del pred",
     kSteps},
    {"torchtune", "torchtune", kTorchtune,
     "torchtune, recipes/configs/llama3_1/8B_lora_single_device.yaml: clip_grad_norm, optimizer, "
     "dtype, enable_activation_checkpointing, loss, lora_alpha, lora_attn_modules, "
     "apply_lora_to_mlp; recipes/lora_finetune_single_device.py: del outputs",
     kSteps},
    {"unsloth", "unsloth", kUnsloth,
     "unsloth, models/rl.py (optim), models/llama.py: get_peft_model(), fast_cross_entropy_loss() "
     "of 2025.8 and before; its checkpoints are counted as GPU memory",
     kMoreThanSteps},
    {"litgpt-2023", "litgpt", kLitgpt2023,
     "litgpt until February 2024, finetune/lora.py: get_batch() begins with the longest sample, "
     "before which there is no batch; else as litgpt",
     kMoreThanSteps, "2.2"},
    {"litgpt", "litgpt", kLitgpt,
     "litgpt of 2024 and 2025, finetune/lora.py and full.py: lm_head_chunk_size, "
     "chunked_cross_entropy(), adapters in the type of the model, bitsandbytes 0.42 by Fabric's "
     "BitsandbytesPrecision, no_backward_sync(), FSDPStrategy that wraps only blocks; lora.py: "
     "LoRAQKVLinear; fit() names logits until the model has returned the next ones, Fabric's "
     "convert_output() widens them",
     kMoreThanSteps},
    {"composer", "composer", kComposer,
     "mosaicml/composer 0.14 to 0.16, trainer/trainer.py (_eval_train_metrics), metrics/nlp.py, as "
     "mosaicml/llm-foundry up to 0.5 uses it: setup.py (flash-attn 1.0.9), "
     "models/mpt/modeling_mpt.py (train_metrics, loss_fn), scripts/train/yamls/pretrain",
     kMoreThanSteps},
    {"fsdp-qlora", "FSDP1 + bitsandbytes (or HQQ)", kFsdpQlora,
     "AnswerDotAI/fsdp_qlora, train.py: grad_norm, optimizer, use_gradient_checkpointing, "
     "lora_rank, "
     "lora_alpha, lora_dropout, low_memory; get_peft_model() without "
     "prepare_model_for_kbit_training()",
     kMoreThanSteps},
    {"megatron", "Megatron-LM", kMegatron,
     "Megatron-LM, megatron/core: optimizer/optimizer_config.py (clip_grad), "
     "distributed/param_and_grad_buffer.py, tensor_parallel/cross_entropy.py, "
     "models/gpt/gpt_model.py (it returns losses); training/arguments.py (transformer_impl); "
     "TransformerEngine, attention/dot_product_attention/utils.py (get_attention_backend)",
     kMoreThanSteps},
    {"megatron-deepspeed", "Megatron-DeepSpeed", kMegatronDeepSpeed,
     "bigscience-workshop/Megatron-DeepSpeed, megatron/arguments.py (clip_grad), "
     "megatron/model/transformer.py (ParallelAttention), fused_softmax.py, "
     "megatron/mpu/cross_entropy.py; Apex's FusedAdam; DeepSpeed, runtime/zero/stage_1_and_2.py "
     "(zero_grad() sets gradients to none)",
     kMoreThanSteps},
    {"megatron-deepspeed-bf16", "Megatron-DeepSpeed with BF16_Optimizer", kMegatronDeepSpeedBf16,
     "deepspeedai/DeepSpeed#1801, runtime/bf16_optimizer.py (update_hp_grads), "
     "runtime/pipe/engine.py (clear_lp_grads); else as megatron-deepspeed",
     kMoreThanSteps},
    {"megatron-bridge", "Megatron-Bridge", kMegatronBridge,
     "NVIDIA-NeMo/Megatron-Bridge, perf_recipes/_common.py (apply_rope_fusion, "
     "cross_entropy_fusion_impl), training/comm_overlap.py (tp_comm_overlap); else as megatron",
     kMoreThanSteps},
    {"internevo", "InternEvo", kInternEvo,
     "InternLM/InternEvo v0.2.1dev20231121, internlm: solver/optimizer/hybrid_zero_optim.py and "
     "fsdp_optimizer.py, solver/optimizer/utils.py (reduce_grads()), train/training_internlm.py "
     "(torch.optim.AdamW by its default form), model/loss.py (flash_attn's cross entropy, in "
     "place), utils/checkpoint.py, core/scheduler/no_pipeline_scheduler.py (_output)",
     kMoreThanSteps},
    {"nanotron", "nanotron", kNanotron,
     "nanotron: config/config.py (clip_grad, torch_adam_is_fused, accumulate_grad_in_fp32), "
     "optim/gradient_accumulator.py, parallel/tensor_parallel/functional.py, models/base.py "
     "(block_compute_costs), models/llama.py (it returns a loss)",
     kSteps},
};

}  // namespace

std::span<const TrainerRow> trainers() { return kTrainers; }

const TrainerRow* find_trainer(std::string_view name) {
  const auto* row = std::ranges::find(kTrainers, name, &TrainerRow::name);
  return row == std::end(kTrainers) ? nullptr : row;
}

const MemorySpread* memory_spread(const TrainerRow* trainer, const Recipe& recipe) {
  if (recipe.mode == Mode::kInference) return nullptr;
  if (trainer) return &trainer->spread;
  const ParallelPlan& plan = recipe.parallel;
  const auto takes = [&](Axis axis) { return plan.mesh.extent(axis) > 1; };
  const bool fully_sharded = takes(Axis::kShard) && plan.sharded_by == ShardedBy::kFsdp2;
  const bool divided = std::ranges::any_of(
      std::array{Axis::kTensor, Axis::kContext, Axis::kExpert, Axis::kStage}, takes);
  if (recipe.finetune.kind != FinetuneKind::kFull || divided) return &kMoreThanSteps;
  if (!takes(Axis::kShard)) return nullptr;
  return fully_sharded ? &kSteps : &kMoreThanSteps;
}

std::string help_for_trainer(std::string_view name) {
  const std::string word = lower_case(name);
  const auto is = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, word) != names.end();
  };
  if (is({"fsdp", "fsdp1", "fsdp2", "fully_shard"}))
    return fmt::format("{} shards weights, gradients and states; {} is FullyShardedDataParallel",
                       setting("fsdp", "8"), setting("fsdp-version", "1"));
  if (is({"ddp", "dataparallel", "distributeddataparallel"}))
    return fmt::format("{} splits the batch over GPUs; nothing is sharded without {} or {}",
                       setting("gpus", "8"), setting("fsdp"), setting("zero"));
  if (is({"deepspeed", "zero"}))
    return fmt::format("{} shards as stage 3 of DeepSpeed's ZeRO does", setting("zero", "3"));
  if (is({"accelerate", "lightning", "fabric", "axolotl", "llama-factory", "llamafactory"}))
    return fmt::format(
        "it runs other programs' steps: {} or {} shards, {} has the defaults of "
        "Hugging Face's Trainer",
        setting("fsdp", "8"), setting("zero", "3"), setting("trainer", "hf"));
  if (is({"transformers", "huggingface", "hf-trainer"}))
    return fmt::format("its Trainer is {}", setting("trainer", "hf"));
  if (is({"llm-foundry", "llmfoundry", "mosaicml"}))
    return fmt::format("it trains with {}", setting("trainer", "composer"));
  return {};
}

const TrainerRow* trainer_of(std::string_view framework, std::string_view version) {
  constexpr std::string_view kBetween = " / ";
  const size_t at = framework.find(kBetween);
  if (at == framework.npos) return nullptr;
  const std::string_view named = framework.substr(at + kBetween.size());
  const std::optional<Version> pytorch = parse_version(version);
  const auto* row = std::ranges::find_if(kTrainers, [&](const TrainerRow& one) {
    if (!named.starts_with(one.program)) return false;
    const bool earlier = !one.before_pytorch.empty();
    if (earlier && !(pytorch && *pytorch < *parse_version(one.before_pytorch))) return false;
    const std::string_view rest = named.substr(one.program.size());
    return rest.empty() || rest.starts_with(" + ") || rest.starts_with(" (");
  });
  return row == std::end(kTrainers) ? nullptr : row;
}

}  // namespace plimsoll
