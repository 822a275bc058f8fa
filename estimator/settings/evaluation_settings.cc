// What is evaluated between steps of training.
#include <algorithm>

#include "estimator/model/compiled_model.h"
#include "estimator/request/platform.h"
#include "estimator/settings/acts.h"
#include "estimator/settings/setting_value.h"
#include "estimator/settings/tables.h"
#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

constexpr int64_t kMostBatches = 1 << 20;

// Also where it is not predicted, of which W249 says why.
bool evaluates(const SettingScope& s) { return trains(s) && s.platform.framework.python_names; }

// The network has blocks of transformers' decoders, and is passed without training it.
bool returns_cache(const SettingScope& s) {
  const Recipe& recipe = s.request.recipe;
  const bool passes = trains(s) ? recipe.evaluation.batch > 0 : !recipe.serve;
  return passes && std::ranges::any_of(s.model.graph.nodes, [](const Node& node) {
           return has(node, OpRow::kAttends) && node.attributes.integer("causal", 0) != 0 &&
                  node.attributes.string("code", "") == "transformers";
         });
}

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
      {.name = "use-cache",
       .group = kTrainingGroup,
       .shown = kDetail,
       .help = "inference, and evaluation between steps, return keys and values of all layers "
               "(transformers' use_cache)",
       .default_text = "off",
       .value = on_off_value<&Request::recipe, &Recipe::returns_cache>(),
       .record = {.name = "use_cache"},
       .axis = SweepAxis::kKernels,
       .acts = {returns_cache,
                "only inference and evaluation between steps return keys and values, of a decoder "
                "from a Hugging Face config"}},
  };
  return rows;
}

}  // namespace plimsoll
