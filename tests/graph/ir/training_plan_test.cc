#include "graph/ir/training_plan.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/config/model_config.h"
#include "graph/train/expand.h"

namespace plimsoll {
namespace {

constexpr std::string_view kPair =
    R"({"schema": "plimsoll.model-config", "version": 1, "name": "pair",
"networks": {
 "maker": {"inputs": [{"name": "noise", "shape": ["batch", 8]}],
   "layers": [{"name": "fc", "type": "linear", "out": 16}], "loss": "sum"},
 "judge": {"inputs": [{"name": "sample", "shape": ["batch", 16]}],
   "layers": [{"name": "fc", "type": "linear", "out": 32}, {"type": "relu"},
              {"name": "end", "type": "linear", "out": 1}], "loss": "sum"}},
"schedule": [{"train": "judge", "forward_only": ["maker"], "passes": 2, "repeat": 3},
             {"train": "maker", "through": ["judge"]}]})";

struct Planned {
  Graph graph;
  TrainingPlan plan;
};

// `only`: index of the one phase to keep.
Planned pair(std::optional<size_t> only = {}, bool penalty = false) {
  Diagnostics warnings;
  auto config = load_model_config(kPair, "pair.json", {}, warnings);
  REQUIRE(config);
  Planned p;
  p.graph.batch_symbol = "batch";
  for (NamedGraph& network : config->networks) {
    p.plan.networks.push_back(
        append_network(p.graph, std::move(network.graph), network.name, network.losses));
  }
  p.plan.phases.push_back(
      {.trained = 1, .forward_only = {0}, .through = {}, .passes = 2, .repeat = 3});
  p.plan.phases.push_back({.trained = 0, .forward_only = {}, .through = {1}});
  p.plan.phases[0].gradient_penalty = penalty;
  if (only) p.plan.phases = {p.plan.phases[*only]};
  return p;
}

Step step_of(const Planned& p) {
  Decider decider(Binding{{"batch", 4}});
  auto expanded = expand(p.graph, p.plan, Recipe{}, Policy{}, decider);
  REQUIRE(expanded);
  return expanded->step;
}

int64_t launches(const Step& step, KernelClass kernel_class) {
  return std::count_if(step.events.begin(), step.events.end(), [&](const Event& e) {
    return e.kind == Event::Kind::kLaunch && step.kernels[e.id].kernel_class == kernel_class;
  });
}

}  // namespace

// Shapes are inferred again at the sizes asked for: wgan's generator resizes, as opset 11 and later
// say it.
TEST_CASE("networks side by side keep the operator set they were written for") {
  CHECK(pair().graph.opset >= 11);
}

TEST_CASE("training plan: networks lie behind each other under their names") {
  const Planned p = pair();
  REQUIRE(p.plan.networks.size() == 2);
  CHECK(p.plan.networks[0].first == 0);
  CHECK(p.plan.networks[0].last == p.plan.networks[1].first);
  CHECK(p.plan.networks[1].last == p.graph.nodes.size());
  CHECK(p.graph.tensors[p.plan.networks[1].inputs.front()].name == "judge.sample");
  CHECK(p.graph.nodes[p.plan.networks[0].first].module == "maker.fc");
}

// A linear layer is one product forward and two back, one of them for the weights; the judge's
// first layer needs no gradient of its input unless it judges for the maker.
TEST_CASE("training plan: each phase runs what it must and no more") {
  const auto products = [](const Planned& p) { return launches(step_of(p), KernelClass::kGemm); };
  // Three times: the maker forward, then twice the judge, two forward and three back.
  CHECK(products(pair(0)) == 3 * (1 + 2 * (2 + 3)));
  // The maker forward and its weights back; the judge forward, and back for its input alone.
  CHECK(products(pair(1)) == (1 + 1) + (2 + 2));
  CHECK(products(pair()) == products(pair(0)) + products(pair(1)));
}

// One more forward, the gradient of its input, and a backward pass through both.
TEST_CASE("training plan: the gradient penalty differentiates a gradient") {
  CHECK(launches(step_of(pair(0, true)), KernelClass::kGemm) == 3 * (1 + 2 * (2 + 3) + 2 + 2 + 3));
}

// An update is as many kernels whatever it updates; the maker's comes once in four.
TEST_CASE("training plan: only the trained network is updated") {
  const auto maker = launches(step_of(pair(1)), KernelClass::kUpdate);
  CHECK(maker > 0);
  CHECK(launches(step_of(pair(0)), KernelClass::kUpdate) == 3 * maker);
  CHECK(launches(step_of(pair()), KernelClass::kUpdate) == 4 * maker);
}

}  // namespace plimsoll
