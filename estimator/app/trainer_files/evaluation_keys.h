// What files of training programs say of evaluation between steps, where no row can.
#pragma once

namespace plimsoll {

class JsonValue;
class TrainerSettings;

// TrainingArguments (transformers 5.24, training_args.py: eval_strategy,
// per_device_eval_batch_size, eval_accumulation_steps, batch_eval_metrics, prediction_loss_only).
// bf16_full_eval and fp16_full_eval act outside training alone (trainer.py, evaluation_loop()).
void set_hf_evaluation(const JsonValue& root, TrainerSettings& settings);

// axolotl's config (core/builders/base.py at 00f1318a, _configure_save_and_eval_strategy();
// utils/config/__init__.py: a batch of the training where none is told).
void set_axolotl_evaluation(const JsonValue& root, TrainerSettings& settings);

// torchtune's config (recipes/full_finetune_distributed.py at 015b39c7: run_val_every_n_steps, and
// batch_size_val, else the training's).
void set_torchtune_evaluation(const JsonValue& root, TrainerSettings& settings);

}  // namespace plimsoll
