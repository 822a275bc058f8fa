// What a training step does to gradients between its backward pass and the update.
#include <array>
#include <utility>

#include "estimator/model/compiled_model.h"
#include "estimator/request/trainer.h"
#include "estimator/settings/acts.h"
#include "estimator/settings/setting_value.h"
#include "estimator/settings/tables.h"
#include "estimator/settings/values.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "graph/eager/masters.h"

namespace plimsoll {
namespace {

constexpr double kLargestNorm = 1e9;

constexpr std::array<std::string_view, 4> kBuffers = {"none", "as-ready", "after-pass",
                                                      "until-next"};

bool keeps_whole_gradients(const SettingScope& s) {
  return s.model.recipe.parallel.sharded < Sharded::kGradients;
}

bool clips_half_gradients(const SettingScope& s) {
  const Recipe& recipe = s.model.recipe;
  return updates(s) && recipe.clip_grad_norm && eager::casts_gradients(recipe) &&
         !recipe.parallel.offload.keeps();
}

bool has_fp32_shards(const SettingScope& s) {
  return s.request.parallel.fsdp && shards(s) && s.model.recipe.precision->master;
}

// A norm, or none.
SettingValue clip_norm() {
  SettingValue value;
  value.type = SettingValue::Type::kNumber;
  value.placeholder = "NORM";
  value.read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
    into.recipe.clip_grad_norm.reset();
    if (text == "none") return {};
    const auto norm = TRY(parse_real(setting(row.name), text, 0, kLargestNorm));
    // Hugging Face's Trainer does not clip to a norm of 0.
    if (norm > 0) into.recipe.clip_grad_norm = norm;
    return {};
  };
  value.write = [](JsonWriter& out, const Request& from) {
    from.recipe.clip_grad_norm ? out.real(*from.recipe.clip_grad_norm) : out.null();
  };
  return value;
}

SettingValue trainer() {
  SettingValue value;
  value.type = SettingValue::Type::kWord;
  value.placeholder = "PROGRAM|FILE";
  value.words = [] {
    std::vector<std::string> names;
    for (const TrainerRow& row : trainers()) names.emplace_back(row.name);
    return names;
  };
  value.read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
    const auto at = read_word(row, text);
    if (at) {
      into.trainer = &trainers()[*at];
      return {};
    }
    Diagnostics diagnostics = at.error();
    if (std::string help = help_for_trainer(text); !help.empty())
      diagnostics.front().help = std::move(help);
    return tl::unexpected(std::move(diagnostics));
  };
  value.write = [](JsonWriter& out, const Request& from) {
    from.trainer ? out.string(from.trainer->name) : out.null();
  };
  return value;
}

}  // namespace

std::span<const SettingRow> gradient_settings() {
  static const SettingRow rows[] = {
      {.name = "clip-grad-norm",
       .group = kTrainingGroup,
       .help = "clip gradients to this norm before the update; or none",
       .default_text = "none",
       .value = clip_norm(),
       .axis = SweepAxis::kKernels,
       .acts = {updates, "this mode updates no weights"}},
      {.name = "norm-copies",
       .group = kTrainingGroup,
       .shown = kDetail,
       .help = "with --clip-grad-norm and fp32 copies of weights: compute the norm from fp32 "
               "copies of all gradients (InternEvo)",
       .value = on_off_switch<&Request::recipe, &Recipe::norm_of_copies>(),
       .acts = {clips_half_gradients,
                "no 16-bit gradients of weights with fp32 copies are clipped; {} clips gradients",
                "clip-grad-norm=1"}},
      {.name = "master-copies",
       .group = kRunGroup,
       .shown = kDetail,
       .help =
           "with --fsdp and --precision mixed-bf16: shards are bf16, and the optimizer keeps fp32 "
           "copies of them (InternEvo)",
       .value = on_off_switch<&Request::parallel, &ParallelRequest::master_copies>(),
       .acts = {has_fp32_shards,
                "only FSDP in a mixed precision has fp32 shards; {} shards weights", "fsdp"}},
      {.name = "gradient-buffer",
       .group = kTrainingGroup,
       .shown = kDetail,
       .help = "add gradients to an fp32 buffer that stays allocated: as-ready (Megatron-LM), "
               "after-pass (nanotron) or until-next (DeepSpeed's BF16_Optimizer)",
       .default_text = "none",
       .value =
           word_value<kBuffers, 0, &Request::parallel, &ParallelRequest::gradient_buffer>("WHEN"),
       .acts = {keeps_whole_gradients, "gradients are sharded; with 1, {} shards only states",
                "zero"},
       .also = {trains, "inference has no gradients"}},
      {.name = "trainer",
       .group = kTrainingGroup,
       .help = "a training program, for its defaults; or its configuration file: "
               "TrainingArguments, peft's, torchtune's, axolotl's, DeepSpeed's, ...",
       .value = trainer(),
       .record = {.name = "trainer"},
       .acts = {trains, "inference trains nothing"}},
  };
  return rows;
}

}  // namespace plimsoll
