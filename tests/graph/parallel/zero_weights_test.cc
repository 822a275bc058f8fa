#include "graph/parallel/zero_weights.h"

#include "graph/parallel/zero.h"
#include "tests/support/parallel_step.h"

namespace plimsoll {
namespace {

constexpr int64_t kReaderRanks = 4, kReaderWidth = 400;

// Two layers of 160,000 weights, and one of 800, which stays whole.
constexpr std::string_view kReaders =
    "opset 17\ninput x: f32[8,400]\nparam a: f32[400,400]\nparam b: f32[400,400]\n"
    "param c: f32[400,2]\nx1 = MatMul(x, a) module=\"h.0.in\"\n"
    "x2 = MatMul(x1, b) module=\"h.0.out\"\ny = MatMul(x2, c) module=\"head\"\noutput y\n";

}  // namespace

TEST_CASE("zero weights: parts of large weights, small ones whole, a bucket for good") {
  const test::ParallelStep s(test::shared_by(ShardedBy::kZero, Sharded::kWeights, kReaderRanks),
                             kReaders);
  const int64_t large = 2 * kReaderWidth * kReaderWidth, small = 2 * kReaderWidth;
  CHECK(s.resident(Role::kParameter) == 4 * (large / kReaderRanks + small));
  CHECK(s.resident(Role::kOptimizerState) == 8 * (large + small) / kReaderRanks);
  CHECK(s.timeline.gradient_bytes == 4 * (large + small) / kReaderRanks);
  CHECK(s.resident(Role::kTemporary) == 4 * ParallelPlan{}.zero_bucket);
  // All are asked for at the beginning, and needed again within the distance.
  CHECK(s.count(CollectiveKind::kAllGather) == 1);
  CHECK(s.count(CollectiveKind::kReduceScatter) == 1);
}

namespace {

// Four layers of 160,000 weights each.
constexpr std::string_view kFourReaders =
    "opset 17\ninput x: f32[8,400]\nparam a: f32[400,400]\nparam b: f32[400,400]\n"
    "param c: f32[400,400]\nparam d: f32[400,400]\nx1 = MatMul(x, a) module=\"h.0.in\"\n"
    "x2 = MatMul(x1, b) module=\"h.1.in\"\nx3 = MatMul(x2, c) module=\"h.2.in\"\n"
    "y = MatMul(x3, d) module=\"h.3.in\"\noutput y\n";

Recipe fetched(const ZeroFetch& fetch) {
  Recipe recipe = test::shared_by(ShardedBy::kZero, Sharded::kWeights, kReaderRanks);
  recipe.parallel.zero_fetch = fetch;
  return recipe;
}

// Gathers that a product runs beside, product by product.
std::vector<int64_t> gathers_beside(const Step& step, Phase phase) {
  std::vector<int64_t> beside;
  int64_t gathers = 0;
  for (const Event& e : step.events) {
    const bool issues = e.kind == Event::Kind::kIssue;
    if (issues || e.kind == Event::Kind::kAwait)
      gathers += step.collectives[e.id].kind != CollectiveKind::kAllGather ? 0 : issues ? 1 : -1;
    const bool product =
        e.kind == Event::Kind::kLaunch && step.kernels[e.id].kernel_class == KernelClass::kGemm;
    if (product && e.phase == phase) beside.push_back(gathers);
  }
  return beside;
}

bool is_gathered_weight(const Buffer& b) { return b.stream == Stream::kGather && !b.resident; }

}  // namespace

TEST_CASE("zero weights: the next weights are asked for as soon as some are there") {
  constexpr int64_t kOne = kReaderWidth * kReaderWidth;
  const test::ParallelStep none(fetched({.prefetch = 0}), kFourReaders);
  CHECK(gathers_beside(none.step, Phase::kForward) == std::vector<int64_t>{0, 0, 0, 0});
  const test::ParallelStep one(fetched({.prefetch = kOne}), kFourReaders);
  CHECK(gathers_beside(one.step, Phase::kForward) == std::vector<int64_t>{1, 1, 1, 0});
  // What surrounds all units asks first (hooks of the outermost module).
  const test::ParallelStep all(fetched({.prefetch = 8 * kOne}), kFourReaders);
  CHECK(gathers_beside(all.step, Phase::kForward) == std::vector<int64_t>{0, 0, 0, 0});
  CHECK(all.count(CollectiveKind::kAllGather) == 1);
  // Several come as one array and are copied out of it.
  CHECK(all.most(is_gathered_weight) == 2 * 4 * 4 * kOne);
  const test::ParallelStep few(fetched({.prefetch = kOne, .live = 2 * kOne, .reuse = 0}),
                               kFourReaders);
  // Two, and one that is let go of at the end of forward and comes when it is needed.
  CHECK(few.most(is_gathered_weight) == 4 * 3 * kOne);
  CHECK(none.most(is_gathered_weight) == 4 * 4 * kOne);  // needed again soon
}

TEST_CASE("zero weights: what is needed again later than so many is let go of") {
  constexpr int64_t kOne = kReaderWidth * kReaderWidth;
  const test::ParallelStep s(fetched({.prefetch = 0, .reuse = 3 * kOne}), kFourReaders);
  // The last two come again within two others.
  CHECK(s.count(CollectiveKind::kAllGather) == 4 + 2);
  CHECK(s.most(is_gathered_weight) == 4 * 2 * kOne);
}

TEST_CASE("zero weights: a step comes to blocks that run again twice on its way back") {
  const auto graph = parse_text(kFourReaders);
  REQUIRE(graph);
  const auto units = parallel::readers_of_weights(*graph);
  std::vector<parallel::Unit> blocks = {{.module = "a", .first = 0, .last = 2},
                                        {.module = "b", .first = 2, .last = 4}};
  CHECK(parallel::trace_of(units, blocks, false) == std::vector<size_t>{0, 1, 2, 3, 3, 2, 1, 0});
  CHECK(parallel::trace_of(units, blocks, true) ==
        std::vector<size_t>{0, 1, 2, 3, 2, 3, 3, 2, 0, 1, 1, 0});
  blocks.pop_back();
  CHECK(parallel::trace_of(units, blocks, true) ==
        std::vector<size_t>{0, 1, 2, 3, 3, 2, 0, 1, 1, 0});
  CHECK(parallel::trace_of(units, blocks, false, 3) ==
        std::vector<size_t>{0, 1, 2, 3, 3, 3, 3, 2, 1, 0});
}

TEST_CASE("zero weights: offloaded weights are copied for each gathering") {
  Recipe recipe = test::shared_by(ShardedBy::kZero, Sharded::kWeights, kReaderRanks);
  recipe.parallel.offload = {.states = true, .parameters = true};
  recipe.parallel.zero_fetch.prefetch = 0;
  const test::ParallelStep s(recipe, kReaders);
  const int64_t small = 2 * kReaderWidth, one = kReaderWidth * kReaderWidth;
  CHECK(s.resident(Role::kParameter) == 4 * small);  // what is always whole
  CHECK(s.resident(Role::kOptimizerState) == 0);
  CHECK(s.timeline.gradient_bytes == 0);
  CHECK(s.count(CollectiveKind::kAllGather) == 2);
  const auto is_part = [&](size_t i) {
    return s.step.collectives[i].kind == CollectiveKind::kFromHost &&
           s.bound.collective_bytes[i] == 4 * one / kReaderRanks;
  };
  int64_t parts = 0;
  for (size_t i = 0; i < s.step.collectives.size(); ++i) parts += is_part(i) ? 1 : 0;
  CHECK(parts == 4);  // of two weights, and of their gradients to be added to
}

TEST_CASE("zero weights: a unit is a node that reads a weight") {
  const auto graph = parse_text(kReaders);
  REQUIRE(graph);
  const auto units = parallel::readers_of_weights(*graph);
  REQUIRE(units.size() == 3);
  CHECK(units[1].first == 1);
  CHECK(units[1].last == 2);
}

}  // namespace plimsoll
