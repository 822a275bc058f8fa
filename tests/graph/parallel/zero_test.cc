#include "graph/parallel/zero.h"

#include "tests/support/parallel_step.h"

namespace plimsoll {
namespace {

using test::kAllCount;

constexpr int64_t kZeroRanks = 4, kBucketCount = ParallelPlan{}.zero_bucket;

test::ParallelStep zero_step(Sharded what, const char* precision = "fp32") {
  Recipe recipe = test::shared_by(ShardedBy::kZero, what, kZeroRanks);
  recipe.precision = find_precision(precision);
  std::string text(test::kThreeBlocks);
  const bool half = recipe.precision->storage != DType::kFloat32;
  for (size_t at = text.find("f32"); half && at != text.npos; at = text.find("f32"))
    text.replace(at, 3, "bf16");
  return test::ParallelStep(recipe, text);
}

}  // namespace

TEST_CASE("zero: weights are whole, states are this device's part") {
  for (const Sharded what : {Sharded::kStates, Sharded::kGradients}) {
    const test::ParallelStep s = zero_step(what);
    CHECK(s.resident(Role::kParameter) == 4 * kAllCount);
    CHECK(s.resident(Role::kOptimizerState) == 8 * kAllCount / kZeroRanks);
    CHECK(s.timeline.gradient_bytes >= 4 * kAllCount / kZeroRanks);
    CHECK(s.step.collectives.back().kind == CollectiveKind::kAllGather);
    CHECK(s.step.collectives.back().bytes == Dim(4 * kAllCount));
  }
}

// 2 P of weights, 4 P / N of their copies and 8 P / N of states: 16 bytes a weight on one device,
// its gradient of 2 counted (Rajbhandari et al., arXiv:1910.02054, 3.1).
TEST_CASE("zero: in 16 bits the optimizer has its own copies") {
  const test::ParallelStep s = zero_step(Sharded::kGradients, "mixed-bf16");
  CHECK(s.resident(Role::kParameter) == 2 * kAllCount);
  CHECK(s.resident(Role::kOptimizerState) == 12 * kAllCount / kZeroRanks);
  CHECK(s.timeline.persistent_bytes ==
        s.resident(Role::kParameter) + s.resident(Role::kOptimizerState));
}

TEST_CASE("zero: a bucket of a fixed size is there in backward, for stage 1 behind it") {
  const auto is_bucket = [](const Buffer& b) { return b.bytes == Dim(4 * kBucketCount); };
  for (const Sharded what : {Sharded::kStates, Sharded::kGradients}) {
    const test::ParallelStep s = zero_step(what);
    CHECK(s.most(is_bucket) == 4 * kBucketCount);
    // The bucket is joined once to be summed.
    CHECK(s.count(CollectiveKind::kAllReduce) == 1);
    CHECK(s.step.collectives.front().bytes == Dim(4 * kAllCount));
  }
}

// stage_1_and_2.py, extra_large_param_to_reduce.
TEST_CASE("zero: a gradient that is larger than a bucket is summed where it is") {
  Recipe recipe = test::shared_by(ShardedBy::kZero, Sharded::kGradients, kZeroRanks);
  recipe.parallel.zero_bucket = 1;
  const test::ParallelStep s(recipe);
  const int64_t weights = s.count(CollectiveKind::kAllReduce);
  CHECK(weights > 1);
  recipe.parallel.zero_bucket = kAllCount;
  const test::ParallelStep joined(recipe);
  CHECK(joined.count(CollectiveKind::kAllReduce) == 1);
  CHECK(s.timeline.peak_bytes < joined.timeline.peak_bytes);
}

TEST_CASE("zero: offloaded states leave a buffer of the largest weight, gradients go in 32 bits") {
  Recipe recipe = test::shared_by(ShardedBy::kZero, Sharded::kGradients, kZeroRanks);
  recipe.precision = find_precision("mixed-bf16");
  recipe.parallel.offload.states = true;
  std::string text(test::kThreeBlocks);
  for (size_t at = text.find("f32"); at != text.npos; at = text.find("f32"))
    text.replace(at, 3, "bf16");
  const test::ParallelStep s(recipe, text);
  CHECK(s.resident(Role::kOptimizerState) == 0);
  CHECK(s.resident(Role::kTemporary) == 2 * 16 * 16);
  CHECK(s.timeline.gradient_bytes == 0);
  int64_t there = 0, back = 0, host = 0;
  for (size_t i = 0; i < s.step.collectives.size(); ++i) {
    const CollectiveKind kind = s.step.collectives[i].kind;
    if (kind == CollectiveKind::kToHost) there += s.bound.collective_bytes[i];
    if (kind == CollectiveKind::kFromHost) back += s.bound.collective_bytes[i];
  }
  CHECK(there == 4 * kAllCount / kZeroRanks);
  CHECK(back == 2 * kAllCount / kZeroRanks);
  for (const int64_t bytes : s.bound.on_host_bytes) host += bytes;
  // Masters, two states, their gradients, new weights, and the largest weight's buffer.
  CHECK(host == (16 + 2) * kAllCount / kZeroRanks + 2 * 16 * 16);
}

}  // namespace plimsoll
