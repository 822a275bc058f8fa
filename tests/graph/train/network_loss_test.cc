#include "graph/train/network_loss.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "graph/train/expand.h"

namespace plimsoll {
namespace {

// Scores of 12 classes, of 8 positions in each of 2 samples.
constexpr std::string_view kHead =
    "opset 17\ninput x: f32[2,8,16]\nparam head: f32[16,12]\ny = MatMul(x, head)\noutput y\n";

// Times that a kernel of this name runs.
int64_t launches(const Recipe& recipe, std::string_view op) {
  auto graph = parse_text(kHead);
  REQUIRE(graph);
  Decider decider({});
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  const auto expansion = expand(*graph, plan_for(*graph), recipe, Policy{}, decider);
  REQUIRE(expansion);
  const Step& step = expansion->step;
  return std::ranges::count_if(step.events, [&](const Event& e) {
    return e.kind == Event::Kind::kLaunch && step.kernels[e.id].op == op;
  });
}

}  // namespace

TEST_CASE("metrics of scores are cross entropies behind each batch's backward pass") {
  Recipe recipe;
  recipe.loss = Loss::kCausalLm;
  recipe.loss_form = LossForm::kFused;
  CHECK(launches(recipe, "nll_loss") == 0);
  recipe.score_metrics = 2;
  CHECK(launches(recipe, "nll_loss") == 2);
  recipe.accumulate = 3;
  CHECK(launches(recipe, "nll_loss") == 6);
  recipe.loss_form = LossForm::kOperators;
  CHECK(launches(recipe, "nll_loss") == 9);
}

}  // namespace plimsoll
