// The training step itself.
#include <fmt/format.h>

#include <array>

#include "estimator/settings/acts.h"
#include "estimator/settings/record_forms.h"
#include "estimator/settings/setting_value.h"
#include "estimator/settings/tables.h"
#include "estimator/settings/values.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "graph/ir/optimizer.h"
#include "graph/ir/precision.h"

namespace plimsoll {
namespace {

constexpr std::string_view kNothingUpdated = "this mode updates no weights";
constexpr std::string_view kNoGradients = "inference has no gradients";
constexpr std::string_view kTrainsNothing = "inference trains nothing";

constexpr std::array<std::string_view, 4> kModes = {"train", "train_no_update", "inference",
                                                    "serve"};
constexpr size_t kServe = 3;
constexpr std::array<std::string_view, 2> kRecipes = {"usual", "published"};
constexpr std::array<std::string_view, 7> kLosses = {"cross_entropy", "mse",       "bce", "sum",
                                                     "ctc",           "causal_lm", "none"};
constexpr std::array<std::string_view, 4> kZeroGrads = {"none", "before", "after", "keep"};

// A config's own loss holds unless one is asked for.
constexpr SettingValue loss() {
  SettingValue value = word_value<kLosses, 0, &Request::recipe, &Recipe::loss>("NAME");
  value.read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
    const auto at = TRY(read_word(row, text));
    into.recipe.loss = static_cast<Loss>(at);
    into.loss_given = true;
    return {};
  };
  value.write = [](JsonWriter& out, const Request& from) {
    from.loss_given ? out.string(name(from.recipe.loss)) : out.null();
  };
  return value;
}

// To serve is inference with a cache.
constexpr SettingValue mode() {
  SettingValue value = word_value<kModes, 0, &Request::recipe, &Recipe::mode>("MODE");
  value.read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
    const auto at = TRY(read_word(row, text));
    into.recipe.serve = into.serving = at == kServe;
    into.recipe.mode = into.recipe.serve ? Mode::kInference : static_cast<Mode>(at);
    return {};
  };
  value.write = [](JsonWriter& out, const Request& from) {
    out.string(from.recipe.serve ? kModes[kServe] : kModes[static_cast<size_t>(from.recipe.mode)]);
  };
  return value;
}

// Words that other programs have for one of two.
Result<void> refuse_vague_precision(const SettingRow& row, std::string_view text) {
  struct Vague {
    std::string_view word, help;
  };
  constexpr Vague kVague[] = {
      {"mixed", "amp-bf16, or amp-fp16 on GPUs before Ampere"},
      {"amp", "amp-bf16, or amp-fp16 on GPUs before Ampere"},
      {"bfloat16", "bf16, or amp-bf16 where weights stay in fp32"},
      {"float16", "fp16, or amp-fp16 where weights stay in fp32"},
  };
  for (const auto& [word, help] : kVague) {
    if (text == word)
      return error("E106", fmt::format("{} does not take '{}'", setting(row.name), word), {},
                   fmt::format("did you mean {}?", help));
  }
  return {};
}

// A Hugging Face config's type holds unless a precision is asked for.
constexpr SettingValue precision() {
  SettingValue value = row_value<precisions, &Request::recipe, &Recipe::precision>("NAME");
  value.read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
    constexpr SettingValue plain =
        row_value<precisions, &Request::recipe, &Recipe::precision>("NAME");
    TRY(refuse_vague_precision(row, text));
    into.precision_given = true;
    return plain.read(row, text, into);
  };
  return value;
}

constexpr SettingValue checkpoint() {
  SettingValue value = text_value<&Request::recipe, &Recipe::checkpoint>("WHAT");
  value.words = [] {
    return std::vector<std::string>{"none", "blocks", "blocks/2", "operators", "mirror"};
  };
  return value;
}

Result<void> read_dropout(const SettingRow& row, std::string_view text, Request& into) {
  into.recipe.ignore_dropout = text == "none";
  into.recipe.assumed_dropout = std::nullopt;
  if (text == "none" || text == "recovered") return {};
  const auto ratio = TRY(parse_real(setting(row.name), text, 0, 1));
  into.recipe.assumed_dropout = ratio;
  return {};
}

constexpr SettingValue dropout() {
  return {.type = SettingValue::Type::kText,
          .placeholder = "WHAT",
          .words =
              [] {
                return std::vector<std::string>{"recovered", "none"};
              },
          .read = read_dropout,
          .write =
              [](JsonWriter& out, const Request& from) {
                const Recipe& recipe = from.recipe;
                if (recipe.assumed_dropout) {
                  out.real(*recipe.assumed_dropout);
                } else {
                  out.string(recipe.ignore_dropout ? "none" : "recovered");
                }
              }};
}

template <bool trained>
constexpr SettingValue rules() {
  return {.form = SettingValue::Form::kSeveral,
          .type = SettingValue::Type::kGlob,
          .placeholder = "GLOB",
          .read = [](const SettingRow&, std::string_view text, Request& into) -> Result<void> {
            into.recipe.training.push_back({std::string(text), trained});
            return {};
          },
          .write =
              [](JsonWriter& out, const Request& from) {
                out.begin_array();
                for (const TrainingRule& rule : from.recipe.training) {
                  if (rule.trained == trained) out.string(rule.glob);
                }
                out.end_array();
              }};
}

constexpr SettingRow kTrainingRows[] = {
    {.name = "mode",
     .group = kTrainingGroup,
     .shown = kOften,
     .help = "train, train_no_update, inference, serve (LLM)",
     .default_text = "train",
     .value = mode(),
     .record = {.name = "mode", .word = written_mode},
     .axis = SweepAxis::kKernels,
     .verbs = kInRecords},
    {.name = "precision",
     .group = kTrainingGroup,
     .shown = kOften,
     .help = "precision: fp32, tf32, amp-fp16, amp-bf16, ...",
     .default_text = "fp32",
     .value = precision(),
     .record = {.name = "dtype", .word = written_precision},
     .verbs = kInRecords},
    {.name = "optimizer",
     .group = kTrainingGroup,
     .shown = kOften,
     .help = "optimizer: sgd, momentum, adam, adamw, ...",
     .value = row_value<optimizers, &Request::recipe, &Recipe::optimizer>("NAME"),
     .record = {.name = "optimizer", .word = written_optimizer},
     .axis = SweepAxis::kKernels,
     .acts = {updates, kNothingUpdated},
     .verbs = kInRecords},
    {.name = "recipe",
     .group = kTrainingGroup,
     .help =
         "published: train a built-in model with the optimizer of its paper instead of --optimizer",
     .default_text = "usual",
     .value = word_value<kRecipes, 0, &Request::recipe, &Recipe::published>("WHICH"),
     .axis = SweepAxis::kKernels,
     .acts = {published, "the model has no published training"}},
    {.name = "checkpoint",
     .group = kTrainingGroup,
     .shown = kOften,
     .help = "recompute: none, blocks, blocks/2 (every second), operators, mirror (MXNet) or names "
             "of modules",
     .default_text = "none",
     .value = checkpoint(),
     .record = {.name = "checkpoint", .word = written_checkpoint},
     .axis = SweepAxis::kKernels,
     .acts = {trains, "inference keeps nothing for a backward pass"}},
    {.name = "accumulate",
     .group = kTrainingGroup,
     .help = "gradient accumulation: passes per update",
     .default_text = "1",
     .value = count_value<&Request::recipe, &Recipe::accumulate>(1, 4096),
     .record = {.name = "accumulation"},
     .axis = SweepAxis::kKernels,
     .acts = {trains, kNoGradients}},
    {.name = "loss",
     .group = kTrainingGroup,
     .help = "loss: cross_entropy, mse, bce, sum, ctc, causal_lm or none",
     .default_text = "that of the config, else cross_entropy",
     .value = loss(),
     .record = {.name = "loss", .word = written_loss},
     .acts = {trains, "inference has no loss"}},
    {.name = "compile",
     .group = kTrainingGroup,
     .help = "torch.compile: element-wise kernels are fused",
     .value = on_off_switch<&Request::recipe, &Recipe::compiled>(),
     .record = {.name = "compile"},
     .axis = SweepAxis::kKernels},
    {.name = "cuda-graphs",
     .group = kTrainingGroup,
     .help = "run passes as CUDA graphs; with --compile: mode reduce-overhead",
     .value = on_off_switch<&Request::cuda_graphs>(),
     .record = {.name = "cuda_graphs"},
     .axis = SweepAxis::kKernels},
    {.name = "freeze",
     .group = kTrainingGroup,
     .help = "weights to freeze, e.g. 'backbone.*'",
     .value = rules<false>(),
     .axis = SweepAxis::kKernels,
     .acts = {trains, kTrainsNothing}},
    {.name = "train",
     .group = kTrainingGroup,
     .help = "weights to train, e.g. 'head.*'; the last match wins",
     .value = rules<true>(),
     .axis = SweepAxis::kKernels,
     .acts = {trains, kTrainsNothing}},
    {.name = "weight-decay",
     .group = kTrainingGroup,
     .help = "the optimizer applies weight decay",
     .value = on_off_switch<&Request::recipe, &Recipe::weight_decay>(),
     .record = {.name = "weight_decay"},
     .axis = SweepAxis::kKernels,
     .acts = {updates, kNothingUpdated},
     .also = {decays_apart, "weight decay does not change the time of this update"}},
    {.name = "zero-grad",
     .group = kTrainingGroup,
     .shown = kDetail,
     .help = "when gradients are freed: before or after the step; keep: they are set to zero "
             "instead; none: neither",
     .default_text = "the framework's",
     .value = word_value<kZeroGrads, 0, &Request::recipe, &Recipe::zero_grad>("WHEN"),
     .record = {.name = "zero_grad"},
     .axis = SweepAxis::kKernels,
     .acts = {trains, kNoGradients}},
    {.name = "dropout",
     .group = kTrainingGroup,
     .help = "dropout: as recovered from the file, none, or a ratio to assume",
     .default_text = "recovered",
     .value = dropout(),
     .axis = SweepAxis::kKernels,
     .acts = {drops, "no dropout runs in this model and mode"}},
};

}  // namespace

std::span<const SettingRow> training_settings() { return kTrainingRows; }

}  // namespace plimsoll
