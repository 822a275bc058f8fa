// What is evaluated between steps of training.
#include "estimator/model/compiled_model.h"
#include "estimator/request/platform.h"
#include "estimator/settings/acts.h"
#include "estimator/settings/setting_value.h"
#include "estimator/settings/tables.h"

namespace plimsoll {
namespace {

constexpr int64_t kMostBatches = 1 << 20;

// Also where it is not predicted, of which W249 says why.
bool evaluates(const SettingScope& s) { return trains(s) && s.platform.framework.python_names; }

bool gathers(const SettingScope& s) { return s.request.recipe.evaluation.batch > 0; }

}  // namespace

std::span<const SettingRow> evaluation_settings() {
  static const SettingRow rows[] = {
      {.name = "eval-batch",
       .group = kTrainingGroup,
       .help = "the model is evaluated between steps, in batches of N on each GPU "
               "(per_device_eval_batch_size)",
       .default_text = "0: no evaluation",
       .value =
           count_value<&Request::recipe, &Recipe::evaluation, &Evaluation::batch>(0, kLargestCount),
       .axis = SweepAxis::kKernels,
       .acts = {evaluates, "only training with PyTorch evaluates between steps here"}},
      {.name = "eval-gather",
       .group = kTrainingGroup,
       .shown = kDetail,
       .help = "with --eval-batch: batches whose logits stay on the GPU for metrics, until they "
               "are moved (eval_accumulation_steps); 0: only the loss is kept",
       .default_text = "0",
       .value = count_value<&Request::recipe, &Recipe::evaluation, &Evaluation::gathered>(
           0, kMostBatches),
       .axis = SweepAxis::kKernels,
       .acts = {evaluates, "only training with PyTorch evaluates between steps here"},
       .also = {gathers, "nothing is evaluated between steps; see {}", "eval-batch"}},
  };
  return rows;
}

}  // namespace plimsoll
