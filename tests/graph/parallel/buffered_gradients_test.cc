#include "graph/parallel/buffered_gradients.h"

#include <algorithm>
#include <set>

#include "tests/support/parallel_step.h"

namespace plimsoll {
namespace {

test::ParallelStep buffered_step(GradientBuffer when, int64_t ranks = 1, int64_t passes = 1) {
  Recipe recipe = test::shared_by(ShardedBy::kZero, Sharded::kStates, ranks);
  recipe.precision = find_precision("mixed-bf16");
  recipe.optimizer = find_optimizer("adamw-fused");
  recipe.parallel.gradient_buffer = when;
  recipe.accumulate = passes;
  std::string text(test::kThreeBlocks);
  for (size_t at = text.find("f32"); at != text.npos; at = text.find("f32"))
    text.replace(at, 3, "bf16");
  return test::ParallelStep(recipe, text);
}

// The fused optimizer counts the steps of each of seven weights on the card.
constexpr int64_t kCounters = 7 * 4;

// Gradients in 16 bits, at most at once.
int64_t half_gradients(const test::ParallelStep& s) {
  std::set<const Buffer*> gradients;
  for (const Event& e : s.step.events) {
    if (e.kind == Event::Kind::kBecomeGradient) gradients.insert(&s.step.buffers[e.id]);
  }
  return s.most([&](const Buffer& b) { return gradients.contains(&b); });
}

// ... and at most beside a forward pass.
int64_t half_gradients_of_forward(const test::ParallelStep& s) {
  std::set<BufferId> gradients, alive;
  for (const Event& e : s.step.events) {
    if (e.kind == Event::Kind::kBecomeGradient) gradients.insert(e.id);
  }
  int64_t most = 0;
  for (const Event& e : s.step.events) {
    if (e.kind == Event::Kind::kAllocate && gradients.contains(e.id)) alive.insert(e.id);
    if (e.kind == Event::Kind::kFree) alive.erase(e.id);
    if (e.kind != Event::Kind::kLaunch || e.phase != Phase::kForward) continue;
    int64_t now = 0;
    for (const BufferId id : alive) now += s.step.buffers[id].bytes.evaluate({}).value_or(0);
    most = std::max(most, now);
  }
  return most;
}

}  // namespace

// 2 P of weights, 4 P of the buffer, 12 P of copies and states: 18 bytes a weight
// (megatron/training/theoretical_memory_usage.py), 6 + 12 / N on N ranks.
TEST_CASE("gradient buffer: 32 bits of all weights stay, whoever shares the states") {
  for (const auto when : {GradientBuffer::kAsReady, GradientBuffer::kAfterPass}) {
    const test::ParallelStep one = buffered_step(when);
    CHECK(one.resident(Role::kGradient) == 4 * test::kAllCount);
    CHECK(one.timeline.persistent_bytes == 18 * test::kAllCount + kCounters);
    const test::ParallelStep four = buffered_step(when, 4);
    CHECK(four.timeline.persistent_bytes ==
          6 * test::kAllCount + 12 * test::kAllCount / 4 + kCounters);
    CHECK(four.count(CollectiveKind::kReduceScatter) == 1);
    CHECK(four.step.collectives.front().bytes == Dim(4 * test::kAllCount));
    CHECK(four.step.collectives.back().kind == CollectiveKind::kAllGather);
    CHECK(four.step.collectives.back().bytes == Dim(2 * test::kAllCount));
  }
  CHECK(buffered_step(GradientBuffer::kNone).resident(Role::kGradient) == 0);
}

TEST_CASE("gradient buffer: added after each pass, or one by one") {
  const test::ParallelStep ready = buffered_step(GradientBuffer::kAsReady);
  const test::ParallelStep after = buffered_step(GradientBuffer::kAfterPass);
  CHECK(half_gradients(after) == 2 * test::kAllCount);
  CHECK(half_gradients(ready) == 2 * 16 * 16);
  CHECK(ready.timeline.peak_bytes < after.timeline.peak_bytes);
}

TEST_CASE("gradient buffer: gradients in 16 bits stay until the next backward pass") {
  const test::ParallelStep until = buffered_step(GradientBuffer::kUntilNext, 1, 5);
  CHECK(half_gradients_of_forward(until) == 2 * test::kAllCount);
  CHECK(half_gradients_of_forward(buffered_step(GradientBuffer::kAfterPass, 1, 5)) == 0);
  CHECK(half_gradients(until) == 2 * test::kAllCount);
  const test::ParallelStep many = buffered_step(GradientBuffer::kUntilNext, 1, 500);
  CHECK(many.step.events.size() == until.step.events.size());
  CHECK(many.timeline.peak_bytes == until.timeline.peak_bytes);
  CHECK(until.timeline.persistent_bytes == 18 * test::kAllCount + kCounters);
}

// Those of a pass that waits for its end are added by a kernel each.
TEST_CASE("gradient buffer: products add to it, other gradients take a kernel") {
  const auto additions = [](GradientBuffer when) {
    const test::ParallelStep s = buffered_step(when);
    return std::ranges::count_if(s.step.events, [&](const Event& e) {
      return e.kind == Event::Kind::kLaunch && s.step.kernels[e.id].op == "add";
    });
  };
  CHECK(additions(GradientBuffer::kAfterPass) == 7);
  CHECK(additions(GradientBuffer::kUntilNext) == 7);
  CHECK(additions(GradientBuffer::kAsReady) == 0);
}

TEST_CASE("gradient buffer: passes are alike, and the last one exchanges") {
  const test::ParallelStep few = buffered_step(GradientBuffer::kAfterPass, 4, 5);
  const test::ParallelStep many = buffered_step(GradientBuffer::kAfterPass, 4, 500);
  CHECK(few.step.events.size() == many.step.events.size());
  CHECK(few.timeline.peak_bytes == many.timeline.peak_bytes);
  CHECK(many.count(CollectiveKind::kReduceScatter) == 1);
}

}  // namespace plimsoll
