#include "estimator/model/evaluation_pass.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "estimator/behaviour/autograd.h"
#include "estimator/evaluator.h"
#include "estimator/request/find_platform.h"
#include "tests/support/requests.h"

using namespace plimsoll;

namespace {

Request evaluating(const std::string& model, int64_t batch) {
  Request request = test::request(model, "a100-sxm-40gb");
  request.recipe.evaluation.batch = batch;
  return request;
}

CompiledModel compiled(const Request& request) {
  return *compile(request, *find_platform(test::hwdb(), request, "a100-sxm-40gb"));
}

bool is_warned(const CompiledModel& model) {
  return std::ranges::any_of(model.warnings, [](const auto& d) { return d.code == "W249"; });
}

bool drops(const CompiledModel& model) {
  return std::ranges::any_of(model.step.kernels,
                             [](const Kernel& k) { return k.op.find("dropout") != k.op.npos; });
}

}  // namespace

TEST_CASE("evaluation pass: the model of the step without gradients and dropout, with a loss") {
  const CompiledModel step = compiled(evaluating("builtin:transformer-base", 7));
  REQUIRE(step.evaluation);
  CHECK_FALSE(is_warned(step));
  const CompiledModel& pass = *step.evaluation;
  CHECK(batch_at(pass, evaluation_at(step, step.binding)) == 7);
  CHECK(pass.step.saved.empty());
  CHECK(drops(step));
  CHECK_FALSE(drops(pass));
  const auto launches = [](const CompiledModel& model, Phase phase) {
    return std::ranges::count_if(model.step.events, [&](const Event& e) {
      return e.kind == Event::Kind::kLaunch && e.phase == phase;
    });
  };
  CHECK(launches(pass, Phase::kLoss) > 0);
  CHECK(launches(pass, Phase::kBackward) == 0);
  CHECK(launches(pass, Phase::kUpdate) == 0);
  CHECK_FALSE(compiled(evaluating("builtin:transformer-base", 0)).evaluation);
  Request inference = evaluating("builtin:transformer-base", 7);
  inference.recipe.mode = Mode::kInference;
  CHECK_FALSE(compiled(inference).evaluation);
}

TEST_CASE("evaluation pass: adapters stay, of weights that stay as the step has them") {
  Request request = evaluating("hf:Qwen/Qwen2.5-0.5B", 4);
  request.dims["sequence"] = 64;
  request.recipe.finetune.kind = FinetuneKind::kQlora;
  const CompiledModel step = compiled(request);
  REQUIRE(step.evaluation);
  const auto weights = [](const CompiledModel& model) {
    const auto bound = bind_step(model.step, model.binding);
    int64_t sum = 0;
    for (BufferId id = 0; id < model.step.buffers.size(); ++id) {
      const Buffer& buffer = model.step.buffers[id];
      if (buffer.resident && buffer.role == Role::kParameter) sum += bound->buffer_bytes[id];
    }
    return sum;
  };
  CHECK(weights(*step.evaluation) == weights(step));
  CHECK(step.evaluation->recipe.precision == step.recipe.precision);
}

TEST_CASE("evaluation pass: what it decides by sizes holds wherever the step is taken to hold") {
  const CompiledModel without = compiled(evaluating("builtin:transformer-base", 0));
  const CompiledModel step = compiled(evaluating("builtin:transformer-base", 5));
  CHECK(step.step.guards.size() >= without.step.guards.size());
  Binding other = step.binding;
  other[step.batch_symbol] = 64;
  REQUIRE(guards_hold(step.step, other));
  CHECK(guards_hold(step.evaluation->step, evaluation_at(step, other)));
}

TEST_CASE("evaluation pass: outputs that are gathered are made, whatever the step's loss does") {
  Recipe training;
  training.loss_form = LossForm::kFusedLinear;
  CHECK(evaluation_of(training).loss_form == LossForm::kFusedLinear);
  training.evaluation.gathered = 2;
  CHECK(evaluation_of(training).loss_form == LossForm::kOperators);
}

TEST_CASE("evaluation pass: a pipeline's is not predicted, which is told") {
  Request request = evaluating("hf:Qwen/Qwen2.5-0.5B", 4);
  request.dims["sequence"] = 64;
  request.gpu_count = 2;
  request.parallel.axes[static_cast<size_t>(Axis::kStage)] = 2;
  const CompiledModel step = compiled(request);
  CHECK_FALSE(step.evaluation);
  CHECK(is_warned(step));
}
