#include "estimator/model/ready_model.h"

#include <doctest/doctest.h>

#include "estimator/behaviour/autograd.h"
#include "estimator/evaluator.h"
#include "estimator/model/model_cache.h"
#include "estimator/model/model_source.h"
#include "estimator/request/find_platform.h"
#include "estimator/request/parallel_request.h"
#include "tests/support/requests.h"

using namespace plimsoll;

namespace {

Request pipeline(int64_t stages) {
  Request request = test::request("hf:Qwen/Qwen2.5-0.5B", "a100-sxm-40gb", 2);
  request.dims["sequence"] = 64;
  request.gpu_count = stages;
  request.parallel.axes[static_cast<size_t>(Axis::kStage)] = stages;
  request.recipe.accumulate = stages;
  return request;
}

struct Compiled {
  explicit Compiled(const Request& request)
      : platform(*find_platform(test::hwdb(), request, request.devices.front())),
        behaviour(autograd_behaviour(platform, request, request.recipe)),
        model(*compile(request, behaviour)) {}
  Platform platform;
  AutogradBehaviour behaviour;
  CompiledModel model;
};

bool are_alike(const CompiledModel& a, const CompiledModel& b) {
  const auto event = [](const Event& x, const Event& y) {
    return x.kind == y.kind && x.id == y.id && x.node == y.node && x.phase == y.phase;
  };
  return std::ranges::equal(a.step.events, b.step.events, event) &&
         a.step.buffers.size() == b.step.buffers.size() && a.weight_roles == b.weight_roles &&
         a.step.kernels.size() == b.step.kernels.size() && a.basis == b.basis &&
         a.warnings.size() == b.warnings.size() && a.recipe == b.recipe && a.policy == b.policy;
}

}  // namespace

TEST_CASE("ready model: stages and other recipes are compiled of the one of a first stage") {
  constexpr int64_t kStages = 3;
  Request request = pipeline(kStages);
  const Compiled first(request);
  const auto whole =
      make_ready(*load_model(request), request, first.behaviour.recipe, first.behaviour.policy);
  REQUIRE(whole);
  const auto check = [&] {
    const Compiled wanted(request);
    REQUIRE(graph_recipe(wanted.behaviour.recipe) == graph_recipe(first.behaviour.recipe));
    const auto part = at_stage(*whole, wanted.behaviour.recipe);
    REQUIRE(part);
    const auto found = compile(*part, wanted.behaviour.recipe);
    REQUIRE(found);
    CHECK(are_alike(*found, wanted.model));
  };
  for (request.parallel.rank = 0; request.parallel.rank < kStages; ++request.parallel.rank) check();
  request.parallel.rank = 1;
  request.recipe.checkpoint = "blocks";
  check();
  request.recipe.optimizer = find_optimizer("sgd");
  check();
}

TEST_CASE("ready model: a cache takes it at another batch, where a new one would be the same") {
  Request request = pipeline(2);
  request.batch = 1;
  const Compiled first(request);
  ModelCache cache, other;
  const Policy& policy = first.behaviour.policy;
  Recipe recipe = first.behaviour.recipe;
  REQUIRE(cache.at(request, recipe, policy, {{"batch", 2}}));
  recipe.accumulate = 4;
  const auto found = cache.at(request, recipe, policy, {{"batch", 16}});
  const auto wanted = other.at(request, recipe, policy, {{"batch", 16}});
  REQUIRE(found);
  REQUIRE(wanted);
  const CompiledModel &a = (*found)->model, &b = (*wanted)->model;
  CHECK(are_alike(a, b));
  CHECK(a.binding == b.binding);
  CHECK(a.facts.batch == 16);
  CHECK(a.step.guards.size() == b.step.guards.size());
}

TEST_CASE("ready model: it is another one for what the graph depends on alone") {
  const Recipe recipe;
  const auto is_same = [&](auto change) {
    Recipe other = recipe;
    change(other);
    return graph_recipe(other) == graph_recipe(recipe);
  };
  CHECK(is_same([](Recipe& r) { r.optimizer = find_optimizer("adamw"); }));
  CHECK(is_same([](Recipe& r) { r.checkpoint = "blocks"; }));
  CHECK(is_same([](Recipe& r) { r.accumulate = 4; }));
  CHECK(is_same([](Recipe& r) { r.parallel.mesh.rank = 3; }));
  CHECK(is_same([](Recipe& r) { r.parallel.offload.states = true; }));
  CHECK_FALSE(is_same([](Recipe& r) { r.precision = find_precision("bf16"); }));
  CHECK_FALSE(is_same([](Recipe& r) { r.finetune.kind = FinetuneKind::kLora; }));
  CHECK_FALSE(is_same([](Recipe& r) { r.mode = Mode::kInference; }));
}
