// The step of a small network of three blocks, shared by several devices.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "graph/parallel/stage.h"
#include "graph/train/expand.h"
#include "tests/support/step_walk.h"

namespace plimsoll::test {

// Blocks of two weights of 16 x 16, and a head of 16 x 12 that is in none of them.
inline constexpr std::string_view kThreeBlocks =
    "opset 17\ninput x: f32[8,16]\nparam a: f32[16,16]\nparam b: f32[16,16]\nparam c: f32[16,16]\n"
    "param d: f32[16,16]\nparam e: f32[16,16]\nparam f: f32[16,16]\nparam head: f32[16,12]\n"
    "x1 = MatMul(x, a) module=\"h.0.in\"\nx2 = MatMul(x1, b) module=\"h.0.out\"\n"
    "x3 = MatMul(x2, c) module=\"h.1.in\"\nx4 = MatMul(x3, d) module=\"h.1.out\"\n"
    "x5 = MatMul(x4, e) module=\"h.2.in\"\nx6 = MatMul(x5, f) module=\"h.2.out\"\n"
    "y = MatMul(x6, head) module=\"head\"\noutput y\n";
inline constexpr int64_t kBlockCount = 2 * 16 * 16, kHeadCount = 16 * 12;
inline constexpr int64_t kAllCount = 3 * kBlockCount + kHeadCount;

struct ParallelStep {
  explicit ParallelStep(const Recipe& recipe, std::string_view text = kThreeBlocks) {
    auto graph = parse_text(text);
    REQUIRE_MESSAGE(graph, graph.error().front().message);
    Decider decider({});
    Diagnostics warnings;
    REQUIRE(infer(*graph, decider, warnings));
    run(*graph, plan_for(*graph), recipe);
  }

  void run(const Graph& graph, const TrainingPlan& plan, const Recipe& recipe) {
    Decider decider({});
    auto expansion = expand(graph, plan, recipe, Policy{}, decider);
    REQUIRE_MESSAGE(expansion, expansion.error().front().message);
    step = std::move(expansion->step);
    bound = bind_step(step, {}).value();
    for (const std::string& fault : step_faults(step, bound, 512)) FAIL_CHECK(fault);
    timeline = walk(step, bound, 1);
  }

  // Of a pipeline's stage.
  ParallelStep(const Recipe& recipe, const parallel::StageGraph& stage) {
    run(stage.graph, parallel::plan_of(stage, {}), recipe);
  }

  int64_t resident(Role role) const { return timeline.resident_bytes[static_cast<size_t>(role)]; }
  int64_t count(CollectiveKind kind) const {
    return std::ranges::count(step.collectives, kind, &Collective::kind);
  }
  // Of the forward and backward passes' events, the most that is alive of what `counts` says.
  template <class Counts>
  int64_t most(Counts counts) const {
    int64_t alive = 0, most = 0;
    for (const Event& e : step.events) {
      if (e.kind == Event::Kind::kAllocate && counts(step.buffers[e.id]))
        most = std::max(most, alive += bound.buffer_bytes[e.id]);
      if (e.kind == Event::Kind::kFree && counts(step.buffers[e.id]))
        alive -= bound.buffer_bytes[e.id];
    }
    return most;
  }

  Step step;
  BoundStep bound;
  Timeline timeline;
};

inline Recipe shared_by(ShardedBy library, Sharded what, int64_t ranks) {
  Recipe recipe;
  recipe.optimizer = find_optimizer("adam");
  recipe.parallel.sharded = what;
  recipe.parallel.sharded_by = library;
  recipe.parallel.mesh.extent(Axis::kShard) = ranks;
  return recipe;
}

}  // namespace plimsoll::test
