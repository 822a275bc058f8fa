// How a language model's loss is computed.
#include <algorithm>
#include <array>

#include "estimator/model/compiled_model.h"
#include "estimator/settings/acts.h"
#include "estimator/settings/setting_value.h"
#include "estimator/settings/tables.h"
#include "estimator/settings/values.h"
#include "graph/train/language_head.h"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 6> kForms = {
    "operators", "fused", "chunked", "chunked-linear", "fused-linear", "tiled-linear"};

constexpr std::array<std::string_view, 3> kWidened = {"off", "fabric", "accelerate"};

constexpr std::array<std::string_view, 2> kShifts = {"labels", "logits"};

constexpr std::string_view kNoForms =
    "only the loss of a language model has such variants, and only if each GPU has the whole "
    "output layer: with replicas, FSDP and ZeRO, not with pipeline parallelism, nor with tensor "
    "parallelism; {} gathers the logits there, for operators and fused";

bool has_all_scores(const ParallelPlan& plan) {
  return plan.mesh.extent(Axis::kTensor) == 1 || plan.split_loss == SplitLoss::kGathered;
}

// The loss is of next tokens, and the device has the layer that makes their scores.
bool has_forms(const SettingScope& s) {
  const Recipe& recipe = s.model.recipe;
  if (!trains(s) || recipe.loss != Loss::kCausalLm) return false;
  if (!has_all_scores(recipe.parallel)) return false;
  if (recipe.loss_form <= LossForm::kFused) return true;
  return head_of_loss(recipe, s.model.graph, s.model.graph.outputs).has_value();
}

bool shifts(const SettingScope& s) {
  const Recipe& recipe = s.model.recipe;
  return trains(s) && recipe.loss == Loss::kCausalLm && recipe.loss_form <= LossForm::kFused &&
         has_all_scores(recipe.parallel);
}

bool has_scores(const SettingScope& s) {
  return trains(s) && s.model.recipe.loss == Loss::kCausalLm && !loss_runs_head(s.model.recipe);
}

// The loss makes scores of all positions, which the model would return.
bool returns_outputs(const SettingScope& s) {
  const Recipe& recipe = s.model.recipe;
  const bool runs_head = head_of_loss(recipe, s.model.graph, s.model.graph.outputs).has_value();
  return !runs_head || recipe.loss_form == LossForm::kChunked;
}

bool keeps_or_not(const SettingScope& s) {
  return trains(s) && returns_outputs(s) && s.model.recipe.score_metrics == 0;
}

bool names_outputs(const SettingScope& s) {
  const Recipe& recipe = s.model.recipe;
  return trains(s) && recipe.keeps_outputs && returns_outputs(s) &&
         recipe.parallel.mesh.extent(Axis::kStage) == 1;
}

bool widens_outputs(const SettingScope& s) {
  const Recipe& recipe = s.model.recipe;
  const PrecisionRow& precision = *recipe.precision;
  const bool accelerate = recipe.widened_outputs == WidenedOutputs::kAccelerate;
  if (accelerate && (!precision.autocast || recipe.loss_form >= LossForm::kChunked)) return false;
  return bits(product_type(precision)) < 32 && returns_outputs(s) && (trains(s) || !accelerate);
}

bool has_loss_chunks(const SettingScope& s) {
  const LossForm form = s.model.recipe.loss_form;
  const bool in_parts = form == LossForm::kChunked || form == LossForm::kChunkedLinear;
  return in_parts && has_forms(s);
}

}  // namespace

std::span<const SettingRow> loss_settings() {
  static const SettingRow rows[] = {
      {.name = "loss-form",
       .group = kTrainingGroup,
       .help =
           "how a language model's loss is computed: operators (PyTorch's cross_entropy), fused "
           "(one kernel), chunked (parts of the sequence); with the last layer: "
           "chunked-linear (torchtune), fused-linear (Liger), tiled-linear (TRL)",
       .default_text = "operators",
       .value = word_value<kForms, 0, &Request::recipe, &Recipe::loss_form>("FORM"),
       .record = {.name = "loss_form"},
       .axis = SweepAxis::kKernels,
       .acts = {has_forms, kNoForms, "split-loss=gathered"}},
      {.name = "loss-shift",
       .group = kTrainingGroup,
       .shown = kDetail,
       .help = "what a language model's loss shifts by one position: labels, or a copy of the "
               "logits, as in transformers before 4.49",
       .default_text = "labels",
       .value = word_value<kShifts, 0, &Request::recipe, &Recipe::shifts_scores>("WHAT"),
       .record = {.name = "loss_shift"},
       .axis = SweepAxis::kKernels,
       .acts = {shifts,
                "only the loss of a language model that reads all logits moves them; with "
                "tensor parallelism, {} gathers them",
                "split-loss=gathered"}},
      {.name = "keep-outputs",
       .group = kTrainingGroup,
       .shown = kDetail,
       .help = "the program keeps the model's outputs, e.g. logits, until the next step",
       .default_text = "on",
       .value = on_off_value<&Request::recipe, &Recipe::keeps_outputs>(),
       .record = {.name = "keep_outputs"},
       .axis = SweepAxis::kKernels,
       .acts = {keeps_or_not,
                "the loss computes the outputs itself, or metrics need them, or "
                "nothing is trained"}},
      {.name = "last-outputs",
       .group = kTrainingGroup,
       .shown = kDetail,
       .help = "the loop keeps the last batch's outputs, with their autograd graph, until the next "
               "batch's outputs exist",
       .default_text = "off",
       .value = on_off_value<&Request::recipe, &Recipe::keeps_last_outputs>(),
       .record = {.name = "last_outputs"},
       .axis = SweepAxis::kKernels,
       .acts = {names_outputs,
                "outputs are freed before the backward pass, or the loss computes and frees "
                "them, or nothing is trained, or a pipeline trains"}},
      {.name = "widen-outputs",
       .group = kTrainingGroup,
       .shown = kDetail,
       .help =
           "which library casts the model's outputs to fp32: fabric (Lightning), before the "
           "loss; accelerate, after the loss that the model computes, only under autocast; or off",
       .default_text = "off",
       .value = word_value<kWidened, 0, &Request::recipe, &Recipe::widened_outputs>("LIBRARY"),
       .record = {.name = "widen_outputs"},
       .axis = SweepAxis::kKernels,
       .acts = {widens_outputs,
                "no output has 16 bits, or the loss computes and drops them; accelerate casts only "
                "under autocast"}},
      {.name = "loss-chunks",
       .group = kTrainingGroup,
       .shown = kDetail,
       .help = "with --loss-form chunked or chunked-linear: number of parts of the sequence",
       .default_text = "8",
       .value = count_value<&Request::recipe, &Recipe::loss_chunks>(1, 1024),
       .record = {.name = "loss_chunks"},
       .axis = SweepAxis::kKernels,
       .acts = {has_loss_chunks, "the loss is not computed in parts; {} sets how it is",
                "loss-form"}},
      {.name = "score-metrics",
       .group = kTrainingGroup,
       .shown = kDetail,
       .help = "number of training metrics that compute a cross entropy of the logits",
       .default_text = "0",
       .value = count_value<&Request::recipe, &Recipe::score_metrics>(0, 16),
       .record = {.name = "score_metrics"},
       .axis = SweepAxis::kKernels,
       .acts = {has_scores, "only training of a language model computes metrics of logits"}},
  };
  return rows;
}

}  // namespace plimsoll
