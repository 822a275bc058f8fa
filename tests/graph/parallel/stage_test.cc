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

test::ParallelStep step_at(int64_t count, int64_t rank, int64_t micro_batches, Schedule schedule) {
  Recipe recipe;
  recipe.optimizer = find_optimizer("adam");
  recipe.accumulate = micro_batches;
  recipe.parallel.mesh = stages(count, rank);
  recipe.parallel.schedule = schedule;
  return test::ParallelStep(recipe, stage_at(count, rank));
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
  CHECK(first.count(CollectiveKind::kSendReceive) == 2 * 4);
  const auto middle = step_at(3, 1, 4, Schedule::kOneForwardOneBackward);
  CHECK(middle.count(CollectiveKind::kSendReceive) == 4 * 4);
  const auto last = step_at(3, 2, 4, Schedule::kOneForwardOneBackward);
  CHECK(last.resident(Role::kParameter) == 4 * (test::kBlockCount + test::kHeadCount));
  CHECK(last.count(CollectiveKind::kSendReceive) == 2 * 4);
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

}  // namespace plimsoll
