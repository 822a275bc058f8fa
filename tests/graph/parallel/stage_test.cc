#include "graph/parallel/stage.h"

#include <fmt/format.h>

#include <string>

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

Graph six_blocks() {
  std::string text = "opset 17\ninput x0: f32[8,16]\n";
  for (int i = 0; i < 6; ++i) text += fmt::format("param w{}: f32[16,16]\n", i);
  for (int i = 0; i < 6; ++i)
    text += fmt::format("x{0} = MatMul(x{1}, w{1}) module=\"h.{1}.in\"\n", i + 1, i);
  auto graph = parse_text(text + "output x6\n");
  REQUIRE(graph);
  Decider decider({});
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  return std::move(*graph);
}

ParallelPlan stages(int64_t count, int64_t rank) {
  ParallelPlan plan;
  plan.mesh.extent(Axis::kStage) = count;
  plan.mesh.rank = rank;
  return plan;
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
  recipe.parallel = stages(count, stage);
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
  REQUIRE(first.chunks.size() == 1);
  CHECK(first.chunks[0].received.empty());
  CHECK(!first.chunks[0].is_last);
  REQUIRE(first.graph.outputs.size() == 1);
  CHECK(first.graph.tensors[first.graph.outputs[0]].name == "x4");
  const parallel::StageGraph last = stage_at(2, 1);
  CHECK(last.graph.nodes.size() == 3);
  REQUIRE(last.chunks.size() == 1);
  REQUIRE(last.chunks[0].received.size() == 1);
  CHECK(last.graph.tensors[last.chunks[0].received[0]].name == "x4");
  CHECK(last.chunks[0].is_last);
  CHECK(last.graph.inputs.empty());
}

// Narayanan et al., arXiv:2104.04473, 2.2.2: of three blocks in three chunks a stage of one has
// all.
TEST_CASE("stage: chunks of a stage are apart, with what others make between them") {
  ParallelPlan plan = stages(1, 0);
  plan.chunks = 3;
  const Graph graph = three_blocks();
  const auto stage = parallel::stage_of(graph, classify_parameters(graph), plan);
  REQUIRE(stage);
  REQUIRE(stage->chunks.size() == 3);
  CHECK(stage->chunks[1].first == 2);
  CHECK(stage->chunks[1].received.size() == 1);
  CHECK(stage->chunks[1].outputs.size() == 1);
  CHECK(stage->chunks[2].outputs == graph.outputs);
  CHECK(stage->tied.empty());
}

TEST_CASE("stage: by cost a stage ends where its share of all matrices does") {
  const Graph graph = three_blocks();
  std::vector<parallel::Unit> blocks = parallel::units_below(graph, "");
  parallel::find_weights(graph, blocks);
  ParallelPlan plan = stages(2, 0);
  using PerChunk = std::vector<int64_t>;
  CHECK(parallel::blocks_of_chunks(graph, blocks, plan) == PerChunk{2, 1});
  plan.balance = StageBalance::kCost;  // 512, 512, 512 and a head of 192: half is 864
  CHECK(parallel::blocks_of_chunks(graph, blocks, plan) == PerChunk{2, 1});
  plan = stages(3, 0);
  plan.balance = StageBalance::kCost;
  CHECK(parallel::blocks_of_chunks(graph, blocks, plan) == PerChunk{1, 1, 1});
}

TEST_CASE("stage: the last one's head that is the table of the first is summed with it") {
  constexpr std::string_view kTied =
      "opset 17\ninput ids: i64[8]\nparam words: f32[12,16]\nparam a: f32[16,16]\nparam b: "
      "f32[16,16]\nx0 = Gather(words, ids)\n"
      "x1 = MatMul(x0, a) module=\"h.0.in\"\nx2 = MatMul(x1, b) module=\"h.1.in\"\n"
      "y = Gemm(x2, words) {transB=1} module=\"head\"\noutput y\n";
  auto graph = parse_text(kTied);
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  Decider decider({});
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  for (const int64_t at : {0, 1}) {
    const auto stage = parallel::stage_of(*graph, classify_parameters(*graph), stages(2, at));
    REQUIRE(stage);
    CHECK(stage->tied.size() == 1);
    const test::ParallelStep s(recipe_at(2, at, 2), *stage);
    CHECK(s.count(CollectiveKind::kAllReduce) == 1);
    for (const Collective& c : s.step.collectives) {
      if (c.kind != CollectiveKind::kAllReduce) continue;
      CHECK(c.axis == Axis::kStage);
      CHECK(c.bytes == Dim(12 * 16 * 4));
    }
  }
}

TEST_CASE("stage: chunks take turns, and a step of theirs sums as much") {
  for (const int64_t stage : {0, 1}) {
    Recipe recipe = recipe_at(2, stage, 4);
    recipe.parallel.chunks = 2;
    recipe.parallel.schedule = Schedule::kInterleaved;
    const Graph graph = six_blocks();
    const auto chunks = parallel::stage_of(graph, classify_parameters(graph), recipe.parallel);
    REQUIRE(chunks);
    const test::ParallelStep s(recipe, *chunks);
    // Each micro-batch is given to and by each chunk, but for the network's ends.
    CHECK(told(s) == 4 * (2 * 2 * 2 - 2));
    Recipe whole = recipe_at(2, stage, 4);
    const auto one = parallel::stage_of(graph, classify_parameters(graph), whole.parallel);
    REQUIRE(one);
    const test::ParallelStep once(whole, *one);
    if (stage == 0) CHECK(s.timeline.peak_bytes > once.timeline.peak_bytes);
  }
}

TEST_CASE("stage: what waits of the backward pass is held, and no more of it runs") {
  for (const int64_t stage : {0, 1, 2}) {
    const auto plain = step_at(3, stage, 6, Schedule::kOneForwardOneBackward);
    const auto later = step_at(3, stage, 6, Schedule::kZeroBubble);
    CHECK(launches(later) == launches(plain));
    CHECK(told(later) == told(plain));
    CHECK(later.timeline.peak_bytes >= plain.timeline.peak_bytes);
    if (stage == 0) CHECK(later.timeline.peak_bytes == plain.timeline.peak_bytes);
  }
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
