#include "estimator/model/weight_notes.h"

#include <fmt/format.h>

#include "graph/base/setting.h"
#include "graph/train/module_calls.h"
#include "graph/train/open_questions.h"
#include "graph/train/weight_doubts.h"

namespace plimsoll {
namespace {

using Roles = std::vector<WeightRole>;

// What rules of training came to.
std::string trained_of(const Graph& graph, const Roles& roles) {
  int64_t weights = 0, trained = 0;
  for (TensorId id = 0; id < roles.size(); ++id) {
    if (graph.tensors[id].kind != TensorKind::kParameter) continue;
    weights += is_weight(roles[id]) ? 1 : 0;
    trained += roles[id] == WeightRole::kTrained ? 1 : 0;
  }
  return fmt::format("{} of {} weights are trained, by {} and {}", trained, weights,
                     setting("freeze"), setting("train"));
}

// Weights that nothing trains although nobody froze them, as a module that a forward pass leaves
// out.
void tell_of_unreached(const Graph& graph, const Roles& roles, std::vector<std::string>& basis) {
  int64_t weights = 0;
  Dim elements_in_all;
  for (TensorId id = 0; id < roles.size(); ++id) {
    if (roles[id] != WeightRole::kUnreached) continue;
    ++weights;
    elements_in_all += elements(*graph.tensors[id].shape);
  }
  if (weights == 0) return;
  basis.push_back(
      fmt::format("the loss does not depend on {} of the weights ({} parameters): they have no "
                  "gradients and no optimizer states",
                  weights, elements_in_all.text()));
}

// FSDP shards parameters: what others hold as buffers stays whole.
Diagnostics unsharded(const Recipe& recipe) {
  const QuantizationRow* row = quantization_of(recipe.finetune);
  const ParallelPlan& plan = recipe.parallel;
  const bool shards = plan.is_sharded() && plan.sharded == Sharded::kWeights;
  if (!row || row->is_parameter || !shards) return {};
  const std::string by = setting(plan.sharded_by == ShardedBy::kZero ? "zero" : "fsdp");
  return {warning("W359",
                  fmt::format("{} shards no weights that are stored as {}: each GPU has them whole",
                              by, row->name),
                  {},
                  fmt::format("{} and {} are sharded", setting("quantize", "nf4-double"),
                              setting("quantize", "gptq-4bit-fsdp")))};
}

}  // namespace

WeightNotes weight_notes(const Graph& graph, const Roles& roles, const Recipe& recipe,
                         const RecoverReport* recovered) {
  WeightNotes notes;
  if (recipe.mode == Mode::kInference) return notes;
  if (!recipe.training.empty()) notes.basis.push_back(trained_of(graph, roles));
  tell_of_unreached(graph, roles, notes.basis);
  const bool guessed = recovered && !graph.told;
  notes.warnings =
      guessed ? weight_doubts(graph, roles, *recovered) : nothing_trained(graph, roles);
  const Diagnostics whole = unsharded(recipe);
  notes.warnings.insert(notes.warnings.end(), whole.begin(), whole.end());
  if (!guessed) return notes;
  OpenQuestions open = open_questions(graph, roles);
  notes.warnings.insert(notes.warnings.end(), open.warnings.begin(), open.warnings.end());
  notes.open_less = std::move(open.less);
  notes.open_more = std::move(open.more);
  if (open.names) notes.names_until = ends_of_calls(graph);
  return notes;
}

}  // namespace plimsoll
