#include "graph/train/network_passes.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "graph/train/expand.h"

namespace plimsoll {
namespace {

// A generator of one product, and a critic of two.
constexpr std::string_view kPair =
    "opset 17\ninput z: f32[4,2]\ninput x: f32[4,8]\nparam a: f32[2,8]\nparam w: f32[8,16]\n"
    "param v: f32[16,1]\nmade = MatMul(z, a)\nh = MatMul(x, w)\ny = MatMul(h, v)\noutput made\n"
    "output y\n";

// The critic's step, over what the generator makes where it runs ahead.
Step critic_step(const PlannedPhase& phase) {
  auto graph = parse_text(kPair);
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  Decider decider({});
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  const TensorId z = graph->inputs[0], x = graph->inputs[1];
  const TensorId made = graph->outputs[0], y = graph->outputs[1];
  const TrainingPlan plan{
      .networks = {{.name = "generator", .first = 0, .last = 1, .inputs = {z}, .outputs = {made}},
                   {.name = "critic",
                    .first = 1,
                    .last = 3,
                    .inputs = {x},
                    .outputs = {y},
                    .losses = {{Loss::kSum, y, false}}}},
      .phases = {phase}};
  auto expansion = expand(*graph, plan, Recipe{}, Policy{}, decider);
  REQUIRE(expansion);
  return std::move(expansion->step);
}

int64_t products(const Step& step, Phase phase) {
  return std::ranges::count_if(step.events, [&](const Event& e) {
    return e.kind == Event::Kind::kLaunch && e.phase == phase &&
           step.kernels[e.id].kernel_class == KernelClass::kGemm;
  });
}

int64_t launches(const Step& step, std::string_view op) {
  return std::ranges::count_if(step.events, [&](const Event& e) {
    return e.kind == Event::Kind::kLaunch && step.kernels[e.id].op == op;
  });
}

}  // namespace

TEST_CASE("networks: one that runs ahead runs once, and none of its weights has a gradient") {
  const Step alone = critic_step({.trained = 1, .passes = 2});
  const Step behind = critic_step({.trained = 1, .forward_only = {0}, .passes = 2});
  CHECK(products(alone, Phase::kForward) == 2 * 2);
  CHECK(products(behind, Phase::kForward) == 1 + 2 * 2);
  CHECK(products(behind, Phase::kBackward) == products(alone, Phase::kBackward));
}

TEST_CASE("networks: a gradient penalty goes forward once more, and back through both passes") {
  const PlannedPhase plain{.trained = 1, .forward_only = {0}, .passes = 2};
  PlannedPhase penalized = plain;
  penalized.gradient_penalty = true;
  const Step without = critic_step(plain), with = critic_step(penalized);
  CHECK(products(with, Phase::kForward) == products(without, Phase::kForward) + 2);
  // The gradient of the input, which itself is kept, and then those of weights and input.
  CHECK(products(with, Phase::kBackward) >= products(without, Phase::kBackward) + 2 + 3);
  for (const char* op : {"interpolate", "norm_backward"}) {
    CHECK(launches(without, op) == 0);
    CHECK(launches(with, op) == 1);
  }
}

}  // namespace plimsoll
