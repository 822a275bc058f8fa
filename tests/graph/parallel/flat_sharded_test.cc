#include "graph/parallel/flat_sharded.h"

#include "tests/support/parallel_step.h"

namespace plimsoll {
namespace {

using test::kAllCount, test::kBlockCount, test::kHeadCount;

constexpr int64_t kFlatRanks = 4;

Recipe fsdp1() { return test::shared_by(ShardedBy::kFsdp1, Sharded::kWeights, kFlatRanks); }

bool is_whole_array(const Buffer& b) { return b.role == Role::kParameter && !b.resident; }

}  // namespace

TEST_CASE("flat sharded: a part of each unit's array stays, and of its gradients") {
  const test::ParallelStep s(fsdp1());
  CHECK(s.resident(Role::kParameter) == 4 * kAllCount / kFlatRanks);
  CHECK(s.resident(Role::kOptimizerState) == 8 * kAllCount / kFlatRanks);
  CHECK(s.timeline.gradient_bytes == 4 * kAllCount / kFlatRanks);
  CHECK(s.timeline.persistent_bytes == 16 * kAllCount / kFlatRanks);
}

TEST_CASE("flat sharded: two units are whole in backward, beside what is in none") {
  const test::ParallelStep s(fsdp1());
  CHECK(s.most(is_whole_array) == 4 * (2 * kBlockCount + kHeadCount));
  CHECK(s.count(CollectiveKind::kAllGather) == 4 + 3);
  CHECK(s.count(CollectiveKind::kReduceScatter) == 4);
  Recipe kept = fsdp1();
  kept.parallel.keeps_gathered = true;
  const test::ParallelStep whole(kept);
  CHECK(whole.most(is_whole_array) == 4 * kAllCount);
  CHECK(whole.count(CollectiveKind::kAllGather) == 4);
}

TEST_CASE("flat sharded: arrays that two streams use are free one later") {
  const test::ParallelStep s(fsdp1());
  for (const Buffer& b : s.step.buffers) {
    if (is_whole_array(b) && b.bytes != Dim(0)) CHECK(b.late);
  }
}

TEST_CASE("flat sharded: without exchange gradients wait whole for the last pass") {
  Recipe recipe = fsdp1();
  recipe.accumulate = 2;
  CHECK(test::ParallelStep(recipe).count(CollectiveKind::kReduceScatter) == 2 * 4);
  recipe.parallel.exchanges_last = true;
  CHECK(test::ParallelStep(recipe).count(CollectiveKind::kReduceScatter) == 4);
}

TEST_CASE("flat sharded: weights kept in 32 bits are gathered in 16, gradients summed in 32") {
  Recipe recipe = fsdp1();
  recipe.precision = find_precision("mixed-bf16");
  std::string text(test::kThreeBlocks);
  for (size_t at = text.find("f32"); at != text.npos; at = text.find("f32"))
    text.replace(at, 3, "bf16");
  const test::ParallelStep s(recipe, text);
  CHECK(s.resident(Role::kParameter) == 4 * kAllCount / kFlatRanks);
  CHECK(s.resident(Role::kOptimizerState) == 8 * kAllCount / kFlatRanks);
  CHECK(s.timeline.gradient_bytes == 4 * kAllCount / kFlatRanks);
  CHECK(s.most(is_whole_array) == 2 * (2 * kBlockCount + kHeadCount));
}

// A unit's gradients are one array, of frozen weights too, unless peft has what is trained wrapped.
TEST_CASE("flat sharded: adapters beside frozen weights are arrays of their own") {
  Recipe recipe = fsdp1();
  recipe.training = {{"*", false}, {"b", true}};
  const test::ParallelStep joined(recipe);
  CHECK(joined.timeline.gradient_bytes == 4 * kBlockCount / kFlatRanks);
  recipe.parallel.adapters_apart = true;
  const test::ParallelStep apart(recipe);
  CHECK(apart.timeline.gradient_bytes == 4 * kBlockCount / 2 / kFlatRanks);
  CHECK(apart.resident(Role::kParameter) == 4 * kAllCount / kFlatRanks);
  CHECK(apart.resident(Role::kOptimizerState) == 8 * kBlockCount / 2 / kFlatRanks);
}

}  // namespace plimsoll
