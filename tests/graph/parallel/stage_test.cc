#include "graph/parallel/stage.h"

#include "graph/exporter/weight_roles.h"
#include "tests/support/parallel_step.h"

namespace plimsoll {
namespace {

Graph three_blocks() {
  auto graph = parse_text(test::kThreeBlocks);
  REQUIRE(graph);
  Decider decider({});
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  return std::move(*graph);
}

Mesh stages(int64_t count, int64_t rank) {
  Mesh mesh;
  mesh.extent(Axis::kStage) = count;
  mesh.rank = rank;
  return mesh;
}

parallel::StageGraph stage_at(int64_t count, int64_t rank) {
  const Graph graph = three_blocks();
  auto stage = parallel::stage_of(graph, classify_parameters(graph), stages(count, rank));
  REQUIRE(stage);
  return std::move(*stage);
}

Recipe recipe_at(int64_t count, int64_t stage, int64_t micro_batches) {
  Recipe recipe;
  recipe.optimizer = find_optimizer("adam");
  recipe.accumulate = micro_batches;
  recipe.parallel.mesh = stages(count, stage);
  return recipe;
}

test::ParallelStep step_at(int64_t count, int64_t rank, int64_t micro_batches, Schedule schedule) {
  Recipe recipe = recipe_at(count, rank, micro_batches);
  recipe.parallel.schedule = schedule;
  return test::ParallelStep(recipe, stage_at(count, rank));
}

// Each stage of `count` by so many ranks along `axis`.
Recipe shared_stage(int64_t count, int64_t stage, int64_t micro_batches, Axis axis, int64_t ranks) {
  Recipe recipe = recipe_at(count, 0, micro_batches);
  recipe.parallel.mesh.extent(axis) = ranks;
  recipe.parallel.mesh.rank = stage * recipe.parallel.mesh.stride(Axis::kStage);
  return recipe;
}

// Such events of a step, of passes that are written once as often as they run.
template <class Counts>
int64_t times_of(const test::ParallelStep& s, Counts counts) {
  EventTimes times(s.step);
  int64_t all = 0;
  for (size_t i = 0; i < s.step.events.size(); ++i) all += counts(s.step.events[i]) ? times(i) : 0;
  return all;
}
int64_t launches(const test::ParallelStep& s) {
  return times_of(s, [](const Event& e) { return e.kind == Event::Kind::kLaunch; });
}
int64_t told(const test::ParallelStep& s) {
  return times_of(s, [&](const Event& e) {
    return e.kind == Event::Kind::kIssue &&
           s.step.collectives[e.id].kind == CollectiveKind::kSendReceive;
  });
}

// Bytes of what is received and not let go of yet, at most: 8 x 16 of 4 bytes each.
int64_t received(const test::ParallelStep& s) {
  return s.most([](const Buffer& b) { return b.node == kNoNode && b.bytes == Dim(8 * 16 * 4); });
}

}  // namespace

TEST_CASE("stage: blocks in a row, the first with the input, the last with the output") {
  const parallel::StageGraph first = stage_at(2, 0);
  CHECK(first.graph.nodes.size() == 4);
  CHECK(first.received.empty());
  CHECK(!first.is_last);
  REQUIRE(first.graph.outputs.size() == 1);
  CHECK(first.graph.tensors[first.graph.outputs[0]].name == "x4");
  const parallel::StageGraph last = stage_at(2, 1);
  CHECK(last.graph.nodes.size() == 3);
  REQUIRE(last.received.size() == 1);
  CHECK(last.graph.tensors[last.received[0]].name == "x4");
  CHECK(last.is_last);
  CHECK(last.graph.inputs.empty());
}

TEST_CASE("stage: more stages than blocks are refused") {
  const Graph graph = three_blocks();
  const auto refused = parallel::stage_of(graph, classify_parameters(graph), stages(4, 0));
  REQUIRE(!refused);
  CHECK(refused.error().front().code == "E120");
}

TEST_CASE("stage: a rank keeps its own weights, and tells its neighbours of each micro-batch") {
  const auto first = step_at(3, 0, 4, Schedule::kOneForwardOneBackward);
  CHECK(first.resident(Role::kParameter) == 4 * test::kBlockCount);
  CHECK(told(first) == 2 * 4);
  const auto middle = step_at(3, 1, 4, Schedule::kOneForwardOneBackward);
  CHECK(told(middle) == 4 * 4);
  const auto last = step_at(3, 2, 4, Schedule::kOneForwardOneBackward);
  CHECK(last.resident(Role::kParameter) == 4 * (test::kBlockCount + test::kHeadCount));
  CHECK(told(last) == 2 * 4);
}

TEST_CASE("stage: as many micro-batches are in flight as stages follow, or all") {
  const int64_t early = step_at(3, 0, 6, Schedule::kOneForwardOneBackward).timeline.peak_bytes;
  const int64_t late = step_at(3, 1, 6, Schedule::kOneForwardOneBackward).timeline.peak_bytes;
  const int64_t all = step_at(3, 0, 6, Schedule::kForwardFirst).timeline.peak_bytes;
  CHECK(late < early + 8 * 16 * 4 * 4);
  CHECK(early < all);
  CHECK(received(step_at(3, 1, 6, Schedule::kForwardFirst)) >
        received(step_at(3, 1, 6, Schedule::kOneForwardOneBackward)));
}

// What is in flight changes hands and not its size: a pair of passes stands for all of them.
TEST_CASE("stage: a step of many micro-batches is no longer than one of few") {
  for (const int64_t stage : {0, 1, 2}) {
    const auto at = [&](int64_t batches) {
      return step_at(3, stage, batches, Schedule::kOneForwardOneBackward);
    };
    const test::ParallelStep few = at(6), more = at(7), many = at(1006);
    CHECK(few.step.events.size() == many.step.events.size());
    CHECK(few.timeline.peak_bytes == many.timeline.peak_bytes);
    CHECK(launches(many) == launches(few) + 1000 * (launches(more) - launches(few)));
  }
}

TEST_CASE("stage: replicas of a stage sum its gradients once, with buckets of all of them") {
  const test::ParallelStep alone = step_at(3, 1, 4, Schedule::kOneForwardOneBackward);
  const test::ParallelStep s(shared_stage(3, 1, 4, Axis::kData, 2), stage_at(3, 1));
  CHECK(s.resident(Role::kParameter) == alone.resident(Role::kParameter));
  CHECK(s.resident(Role::kOptimizerState) == alone.resident(Role::kOptimizerState));
  int64_t summed = 0;
  for (const Collective& c : s.step.collectives)
    summed += c.axis == Axis::kData ? c.bytes.constant().value() : 0;
  CHECK(summed == 4 * test::kBlockCount);
}

TEST_CASE("stage: ranks that shard a stage keep their parts of it") {
  Recipe recipe = shared_stage(3, 1, 4, Axis::kShard, 4);
  recipe.parallel.sharded = Sharded::kWeights;
  const test::ParallelStep s(recipe, stage_at(3, 1));
  CHECK(s.timeline.persistent_bytes == (4 + 8) * test::kBlockCount / 4);
  for (const Collective& c : s.step.collectives)
    CHECK((c.axis == Axis::kShard || c.axis == Axis::kStage));
  // Beside what one rank alone needs of activations there is a gathered block, and no more.
  const test::ParallelStep alone = step_at(3, 1, 4, Schedule::kOneForwardOneBackward);
  const int64_t activations = alone.timeline.peak_bytes - alone.timeline.persistent_bytes;
  CHECK(s.timeline.peak_bytes >= s.timeline.persistent_bytes + 4 * test::kBlockCount);
  CHECK(s.timeline.peak_bytes <=
        s.timeline.persistent_bytes + activations + 4 * 4 * test::kBlockCount);
}

TEST_CASE("stage: along the sequence stages send parts") {
  for (const int64_t stage : {0, 1, 2}) {
    Recipe recipe = shared_stage(3, stage, 2, Axis::kTensor, 4);
    recipe.parallel.sequence_parallel = true;
    const test::ParallelStep s(recipe, stage_at(3, stage));
    for (const Collective& c : s.step.collectives) {
      if (c.kind == CollectiveKind::kSendReceive) CHECK(c.bytes == Dim(8 / 4 * 16 * 4));
    }
    // Those of the loss, of two micro-batches.
    CHECK(s.count(CollectiveKind::kAllReduce) == (stage == 2 ? 2 * 3 : 0));
  }
}

}  // namespace plimsoll
