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
  CHECK(s.resident(Role::kTemporary) == 4 * parallel::kReduceBucket);
  // All are needed again within the distance: each is gathered once.
  CHECK(s.count(CollectiveKind::kAllGather) == 2);
  CHECK(s.count(CollectiveKind::kReduceScatter) == 1);
}

TEST_CASE("zero weights: offloaded weights are copied for each gathering") {
  Recipe recipe = test::shared_by(ShardedBy::kZero, Sharded::kWeights, kReaderRanks);
  recipe.parallel.offload = {.states = true, .parameters = true};
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
