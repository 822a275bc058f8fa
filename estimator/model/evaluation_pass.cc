#include "estimator/model/evaluation_pass.h"

#include <utility>

#include "graph/base/setting.h"
#include "graph/symbol/substitute.h"

namespace plimsoll {
namespace {

void not_predicted(CompiledModel& step, const std::string& why) {
  step.warnings.push_back(warning("W249", "evaluation between steps is not predicted: " + why, {},
                                  "without it memory may be predicted too low"));
}

}  // namespace

// transformers/trainer.py 5.24, prediction_step(): model and loss under torch.no_grad(), in eval
// mode, so without dropout and checkpoints. Liger's loss makes no scores where the loss alone is
// kept; else the model returns them all.
Recipe evaluation_of(const Recipe& training) {
  Recipe pass = training;
  pass.mode = Mode::kInference;
  pass.evaluates = true;
  pass.evaluation = {};
  pass.accumulate = 1;
  pass.score_metrics = 0;
  pass.keeps_outputs = true;
  pass.keeps_last_outputs = false;
  if (training.evaluation.gathered > 0 && pass.loss_form >= LossForm::kChunked)
    pass.loss_form = LossForm::kOperators;
  return pass;
}

bool evaluates_between(const Recipe& recipe) {
  return recipe.evaluation.batch > 0 && recipe.mode != Mode::kInference;
}

namespace {

void add_evaluation(CompiledModel& step, LoadedModel model, ModelRequest request) {
  const int64_t batch = step.recipe.evaluation.batch;
  if (step.recipe.parallel.mesh.extent(Axis::kStage) > 1)
    return not_predicted(step, "a pipeline shares the model");
  if (step.batch_symbol.empty() && batch != step.facts.batch)
    return not_predicted(step, "the model has a fixed batch");
  request.batch = batch;
  request.dims.erase(step.batch_symbol);
  request.precision_given = true;  // the step's
  auto pass = compile(std::move(model), request, evaluation_of(step.recipe), step.policy);
  if (!pass) return not_predicted(step, pass.error().front().message);
  for (Guard guard : pass->step.guards) {
    if (!step.batch_symbol.empty())
      guard.expression = substitute(guard.expression, step.batch_symbol, Dim(batch));
    step.step.guards.push_back(std::move(guard));
  }
  step.evaluation = std::make_shared<const CompiledModel>(std::move(*pass));
}

}  // namespace

Result<CompiledModel> compile_with_evaluation(LoadedModel model, const ModelRequest& request,
                                              const Recipe& recipe, const Policy& policy) {
  if (!evaluates_between(recipe) || model.record)
    return compile(std::move(model), request, recipe, policy);
  auto step = compile(model, request, recipe, policy);
  if (step) add_evaluation(*step, std::move(model), request);
  return step;
}

Binding evaluation_at(const CompiledModel& step, Binding binding) {
  if (!step.batch_symbol.empty()) binding[step.batch_symbol] = step.recipe.evaluation.batch;
  return binding;
}

}  // namespace plimsoll
