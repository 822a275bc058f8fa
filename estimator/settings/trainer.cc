#include "estimator/settings/trainer.h"

#include <algorithm>
#include <array>

namespace plimsoll {
namespace {

constexpr TrainerDefault kHuggingFace[] = {{"clip-grad-norm", "1"}, {"optimizer", "adamw-fused"}};
constexpr TrainerDefault kTrl[] = {
    {"clip-grad-norm", "1"}, {"optimizer", "adamw-fused"}, {"checkpoint", "blocks"}};
constexpr TrainerDefault kTorchtitan[] = {{"clip-grad-norm", "1"}, {"optimizer", "adamw-fused"}};
constexpr TrainerDefault kLitgpt[] = {{"clip-grad-norm", "none"}, {"optimizer", "adamw"}};

constexpr TrainerRow kTrainers[] = {
    {"hf", "Hugging Face's Trainer", kHuggingFace,
     "transformers 5.24, training_args.py: max_grad_norm, optim"},
    {"trl", "TRL's SFTTrainer", kTrl,
     "trl, trainer/sft_config.py: gradient_checkpointing; the rest as TrainingArguments has it"},
    {"torchtitan", "torchtitan", kTorchtitan,
     "torchtitan, config/job_config.py: max_norm, optimizer.name and implementation"},
    {"litgpt", "litgpt", kLitgpt, "litgpt, finetune/lora.py and full.py"},
};

}  // namespace

std::span<const TrainerRow> trainers() { return kTrainers; }

const TrainerRow* find_trainer(std::string_view name) {
  const auto* row = std::ranges::find(kTrainers, name, &TrainerRow::name);
  return row == std::end(kTrainers) ? nullptr : row;
}

}  // namespace plimsoll
