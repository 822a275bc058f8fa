#include "graph/train/named_outputs.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "graph/train/expand.h"

namespace plimsoll {
namespace {

Step step_of(const Recipe& recipe) {
  auto graph = parse_text(
      "opset 17\ninput x: f32[2,8,16]\nparam head: f32[16,12]\ny = MatMul(x, head)\noutput y\n");
  REQUIRE(graph);
  Decider decider({});
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  auto expansion = expand(*graph, plan_for(*graph), recipe, Policy{}, decider);
  REQUIRE(expansion);
  return expansion->step;
}

// What is there before a kernel runs, and freed before the step's end.
size_t handed_on(const Step& step) {
  const auto first = std::ranges::find(step.events, Event::Kind::kLaunch, &Event::kind);
  return static_cast<size_t>(std::count_if(step.events.begin(), first, [&](const Event& e) {
    return e.kind == Event::Kind::kAllocate &&
           std::any_of(first, step.events.end(), [&](const Event& later) {
             return later.kind == Event::Kind::kFree && later.id == e.id;
           });
  }));
}

}  // namespace

TEST_CASE("names that hold the last batch's outputs hand them on to the next step") {
  Recipe recipe;
  recipe.loss = Loss::kCausalLm;
  const size_t without = handed_on(step_of(recipe));
  recipe.keeps_last_outputs = true;
  const Step step = step_of(recipe);
  CHECK(handed_on(step) > without);
  SUBCASE("no network's outputs are named where the program keeps none") {
    recipe.keeps_outputs = false;
    CHECK(handed_on(step_of(recipe)) == without);
  }
}

}  // namespace plimsoll
