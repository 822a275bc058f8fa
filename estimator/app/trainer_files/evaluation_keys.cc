#include "estimator/app/trainer_files/evaluation_keys.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "estimator/app/trainer_files/key_reader.h"
#include "estimator/app/trainer_files/trainer_settings.h"
#include "graph/base/setting.h"
#include "graph/base/text.h"
#include "graph/json/value.h"

namespace plimsoll {
namespace {

constexpr std::string_view kEvalBatch = "eval-batch", kEvalGather = "eval-gather";

// Of a whole number above 0.
std::optional<int64_t> count_at(const JsonValue& root, std::string_view key) {
  const JsonValue* const value = root.find(key);
  const auto count = value ? value->integer() : std::nullopt;
  return count && *count > 0 ? count : std::nullopt;
}

bool asks(const JsonValue& root, std::string_view key) {
  const JsonValue* const value = root.find(key);
  return value && asks_for_something(*value);
}

// The key of the strategy by which it evaluates in training; empty where it does not.
std::string_view strategy_key(const JsonValue& root) {
  for (const std::string_view key : {"eval_strategy", "evaluation_strategy"}) {
    const JsonValue* const value = root.find(key);
    const std::string word = value && value->string() ? lower_case(*value->string()) : "";
    if (word == "steps" || word == "epoch") return key;
  }
  return {};
}

// Of the training's batch, where the file says none of its own.
void evaluate(TrainerSettings& settings, std::optional<int64_t> batch, std::string_view key) {
  const std::string text = batch ? std::to_string(*batch) : settings.text("batch");
  if (!text.empty()) settings.add(kEvalBatch, text, std::string(key));
}

void note_metrics(TrainerSettings& settings) {
  settings.add_note(fmt::format(
      "evaluation keeps only the loss, as without compute_metrics; {} where logits are gathered",
      setting(kEvalGather, "N")));
}

}  // namespace

void set_hf_evaluation(const JsonValue& root, TrainerSettings& settings) {
  constexpr int64_t kDefault = 8;
  const std::string_view key = strategy_key(root);
  if (key.empty()) return;
  evaluate(settings, count_at(root, "per_device_eval_batch_size").value_or(kDefault), key);
  if (asks(root, "prediction_loss_only")) return;
  // Both are of use to who computes metrics alone.
  if (asks(root, "batch_eval_metrics")) {
    settings.add(kEvalGather, "1", "batch_eval_metrics");
  } else if (const auto steps = count_at(root, "eval_accumulation_steps")) {
    settings.add(kEvalGather, std::to_string(*steps), "eval_accumulation_steps");
  } else {
    note_metrics(settings);
  }
}

void set_axolotl_evaluation(const JsonValue& root, TrainerSettings& settings) {
  if (!asks(root, "test_datasets") && !asks(root, "val_set_size")) return;
  std::string_view key = strategy_key(root);
  for (const std::string_view other : {"eval_steps", "evals_per_epoch"}) {
    if (key.empty() && asks(root, other)) key = other;
  }
  if (!key.empty()) evaluate(settings, count_at(root, "eval_batch_size"), key);
}

void set_torchtune_evaluation(const JsonValue& root, TrainerSettings& settings) {
  constexpr std::string_view kEvery = "run_val_every_n_steps";
  if (asks(root, kEvery)) evaluate(settings, count_at(root, "batch_size_val"), kEvery);
}

}  // namespace plimsoll
