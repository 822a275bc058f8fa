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
  // Three pairs forward; backward the two whose inputs want gradients, and the head's; the loss's
  // maxima, sums and targets' scores.
  CHECK(s.count(CollectiveKind::kAllReduce) == 3 + 3 + 3);
  for (const Collective& c : s.step.collectives) CHECK(c.axis == Axis::kTensor);
}

TEST_CASE("tensor parallel: along the sequence it gathers and scatters instead") {
  const test::ParallelStep s(tensor_parallel_on(4, true));
  CHECK(s.count(CollectiveKind::kAllReduce) == 3);  // of rows, in the loss
  CHECK(s.count(CollectiveKind::kReduceScatter) == 3 + 3);
  CHECK(s.count(CollectiveKind::kAllGather) == 3 + 3);
  CHECK(s.timeline.peak_bytes <= test::ParallelStep(tensor_parallel_on(4)).timeline.peak_bytes);
}

// Megatron-LM's probabilities lie where the copy of the scores in 32 bits did, its gradient too;
// DTensor has zeros, exponentials and their sum beside what it keeps.
TEST_CASE("tensor parallel: the loss of split scores, as PyTorch or Megatron-LM computes it") {
  constexpr int64_t kScores = 8 * 12 / 4;
  const auto most = [](SplitLoss whose) {
    Recipe recipe = tensor_parallel_on(4);
    recipe.parallel.split_loss = whose;
    return test::ParallelStep(recipe).most(
        [](const Buffer& b) { return b.bytes == Dim(4 * kScores) && b.role != Role::kInput; });
  };
  CHECK(most(SplitLoss::kDTensor) == (2 + 3) * 4 * kScores);   // scores, kept; three in backward
  CHECK(most(SplitLoss::kMegatron) == (1 + 1) * 4 * kScores);  // scores, their copy
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
