#include "estimator/model/training_notes.h"

#include <fmt/format.h>

#include "graph/base/setting.h"
#include "graph/ir/finetune.h"

namespace plimsoll {

Diagnostics training_notes(const Graph& graph, const Recipe& recipe, bool loss_chosen) {
  Diagnostics notes;
  if (recipe.mode == Mode::kInference) return notes;
  // What is stored in a few bits takes no gradient: transformers' Trainer refuses such a model.
  const QuantizationRow* const form = quantization_of(recipe.finetune);
  if (form && recipe.finetune.kind == FinetuneKind::kFull)
    notes.push_back(warning(
        "W239",
        fmt::format("matrices stored as {} are not trained, and there are no adapters: only "
                    "embeddings and norms are",
                    form->name),
        {}, fmt::format("{} trains adapters", setting("finetune", "qlora"))));
  // A network of several outputs, such as a detector, is trained with a loss that no file holds.
  const size_t outputs = graph.outputs.size();
  if (loss_chosen && recipe.loss == Loss::kSum && outputs > 1)
    notes.push_back(
        note("N530",
             fmt::format("the loss is assumed to be the sum of {} outputs; memory and time of the "
                         "program's loss are not included",
                         outputs)));
  return notes;
}

}  // namespace plimsoll
