#include "estimator/model/compiled_model.h"

#include <fmt/format.h>

#include "estimator/model/bind_symbols.h"
#include "estimator/model/recorded_step.h"
#include "estimator/model/weight_notes.h"
#include "graph/base/append.h"
#include "graph/base/try.h"

namespace plimsoll {

Binding largest_batch(const CompiledModel& model, Binding binding) {
  for (const auto& [symbol, size] : model.longest) {
    const auto usual = model.binding.find(symbol);
    auto here = binding.find(symbol);
    if (usual == model.binding.end() || here == binding.end()) continue;
    if (here->second == usual->second) here->second = std::max(here->second, size);
  }
  return binding;
}

int64_t batch_at(const CompiledModel& model, const Binding& binding) {
  const auto at = binding.find(model.batch_symbol);
  return at == binding.end() ? model.facts.batch : at->second;
}

namespace {

// As the model's sources trained it, where that was asked for and its config tells. Never by
// default: what nobody names is momentum for every model, which callers rely on and models are
// compared by.
void take_published(CompiledModel& model) {
  const OptimizerRow* optimizer = model.meta.optimizer;
  if (!model.recipe.published || optimizer == nullptr) return;
  model.recipe.optimizer = optimizer;
  model.recipe.weight_decay = model.recipe.weight_decay || model.meta.weight_decay;
  model.basis.push_back(fmt::format("recipe: {}{}, as published ({})", optimizer->name,
                                    model.meta.weight_decay ? " with weight decay" : "",
                                    model.meta.optimizer_source));
}

void take_notes(CompiledModel& compiled, WeightNotes notes) {
  append(compiled.basis, notes.basis);
  append(compiled.warnings, notes.warnings);
  compiled.open_less = std::move(notes.open_less);
  compiled.open_more = std::move(notes.open_more);
  compiled.names_until = std::move(notes.names_until);
}

}  // namespace

namespace {

// A recorded step is there already; what the recipe says of training is its own to say.
Result<CompiledModel> compile_recorded(LoadedModel model, const ModelRequest& request,
                                       const Recipe& recipe, const Policy& policy) {
  const Record& record = *model.record;
  CompiledModel compiled;
  compiled.name = record.name;
  compiled.facts = std::move(model.facts);
  compiled.recipe = recipe;
  compiled.policy = policy;
  compiled.warnings = std::move(model.warnings);
  compiled.recorded = true;
  compiled.recorded_with = record.settings;
  compiled.graph = record.graph;
  compiled.batch_symbol = record.graph.batch_symbol;
  auto binding = TRY(bind_symbols(record.graph, request, false, compiled.basis));
  auto step = TRY(step_at(record, binding));
  if (const auto same = check_ranks(record, recipe.parallel.mesh); !same)
    return tl::make_unexpected(same.error());
  compiled.recipe.parallel = {};
  compiled.recipe.parallel.mesh = record.mesh;
  compiled.step = std::move(step);
  compiled.weight_roles = roles_of(record);
  compiled.basis = basis_of(record);
  compiled.binding = compiled.facts.symbols = std::move(binding);
  const auto batch = compiled.binding.find(compiled.batch_symbol);
  compiled.facts.batch = batch == compiled.binding.end() ? 0 : batch->second;
  return compiled;
}

}  // namespace

Result<CompiledModel> compile(LoadedModel model, const ModelRequest& request, const Recipe& recipe,
                              const Policy& policy) {
  if (model.record) return compile_recorded(std::move(model), request, recipe, policy);
  ReadyModel ready = TRY(make_ready(std::move(model), request, recipe, policy));
  if (is_staged(recipe)) {
    ReadyModel part = TRY(at_stage(ready, recipe));
    ready = std::move(part);
  }
  return compile(std::move(ready), recipe);
}

Result<CompiledModel> compile(ReadyModel ready, const Recipe& recipe) {
  CompiledModel compiled;
  compiled.name = std::move(ready.name);
  compiled.facts = std::move(ready.facts);
  compiled.meta = std::move(ready.meta);
  compiled.builtin = ready.builtin;
  compiled.recipe = recipe;
  compiled.recipe.precision = ready.recipe.precision;
  compiled.recipe.finetune = ready.recipe.finetune;
  compiled.recipe.loss = ready.recipe.loss;
  compiled.policy = std::move(ready.policy);
  compiled.batch_symbol = std::move(ready.batch_symbol);
  compiled.graph = std::move(ready.graph);
  compiled.longest = std::move(ready.longest);
  compiled.binding = std::move(ready.binding);
  compiled.recognised = std::move(ready.recognised);
  take_published(compiled);
  append(compiled.basis, ready.basis);
  compiled.warnings = std::move(ready.warnings);
  if (compiled.recipe.finetune.kind == FinetuneKind::kFull)
    compiled.recipe.parallel.adapters_apart = false;
  auto expanded =
      TRY(expand(compiled.graph, ready.plan, compiled.recipe, compiled.policy, ready.decider));
  compiled.step = std::move(expanded.step);
  compiled.weight_roles = std::move(expanded.weight_roles);
  compiled.placements = std::move(expanded.placements);
  append(compiled.warnings, expanded.warnings);
  const bool whole_file = ready.from_onnx && !is_staged(recipe);
  take_notes(compiled, weight_notes(compiled.graph, compiled.weight_roles, compiled.recipe,
                                    whole_file ? &ready.recovered : nullptr));
  compiled.facts.symbols = compiled.binding;
  const auto batch = compiled.binding.find(compiled.batch_symbol);
  compiled.facts.batch = batch == compiled.binding.end() ? 0 : batch->second;
  return compiled;
}

}  // namespace plimsoll
