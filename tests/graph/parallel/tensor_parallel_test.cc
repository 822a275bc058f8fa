#include "graph/parallel/tensor_parallel.h"

#include "graph/base/setting.h"
#include "tests/support/parallel_step.h"

namespace plimsoll {
namespace {

Recipe tensor_parallel_on(int64_t ranks, bool sequence = false) {
  Recipe recipe;
  recipe.optimizer = find_optimizer("adam");
  recipe.parallel.mesh.extent(Axis::kTensor) = ranks;
  recipe.parallel.sequence_parallel = sequence;
  return recipe;
}

}  // namespace

TEST_CASE("tensor parallel: each rank has a part of all weights, and sums once a pair of layers") {
  const test::ParallelStep s(tensor_parallel_on(4));
  CHECK(s.resident(Role::kParameter) == 4 * test::kAllCount / 4);
  CHECK(s.resident(Role::kOptimizerState) == 8 * test::kAllCount / 4);
  // Three pairs forward; backward the two whose inputs want gradients, and the head's.
  CHECK(s.count(CollectiveKind::kAllReduce) == 3 + 3);
  for (const Collective& c : s.step.collectives) CHECK(c.axis == Axis::kTensor);
}

TEST_CASE("tensor parallel: along the sequence it gathers and scatters instead") {
  const test::ParallelStep s(tensor_parallel_on(4, true));
  CHECK(s.count(CollectiveKind::kAllReduce) == 0);
  CHECK(s.count(CollectiveKind::kReduceScatter) == 3 + 3);
  CHECK(s.count(CollectiveKind::kAllGather) == 3 + 3);
  CHECK(s.timeline.peak_bytes <= test::ParallelStep(tensor_parallel_on(4)).timeline.peak_bytes);
}

TEST_CASE("tensor parallel: what ranks do not divide is refused with what they do") {
  auto graph = parse_text(test::kThreeBlocks);
  Decider decider({});
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  const auto refused = expand(*graph, plan_for(*graph), tensor_parallel_on(5), Policy{}, decider);
  REQUIRE(!refused);
  CHECK(refused.error().front().code == "E120");
  CHECK(refused.error().front().help.find(setting("tp", "4")) != std::string::npos);
}

TEST_CASE("tensor parallel: parts are sharded further") {
  Recipe recipe = tensor_parallel_on(2);
  recipe.parallel.sharded = Sharded::kWeights;
  recipe.parallel.mesh.extent(Axis::kShard) = 4;
  const test::ParallelStep s(recipe);
  CHECK(s.resident(Role::kParameter) == 4 * test::kAllCount / 8);
  CHECK(s.resident(Role::kOptimizerState) == 8 * test::kAllCount / 8);
}

}  // namespace plimsoll
