#include "estimator/request/parallel_request.h"

#include <doctest/doctest.h>

#include "graph/base/setting.h"

namespace plimsoll {
namespace {

ParallelRequest asked(int64_t fsdp, int64_t dp, int64_t tp = 0) {
  ParallelRequest request;
  request.axes[static_cast<size_t>(Axis::kShard)] = fsdp;
  request.axes[static_cast<size_t>(Axis::kData)] = dp;
  request.axes[static_cast<size_t>(Axis::kTensor)] = tp;
  request.fsdp = fsdp > 0;
  return request;
}

}  // namespace

TEST_CASE("a plan: GPUs that no axis takes have samples of their own, or shard") {
  CHECK(axes_text(plan_on({}, 8)->mesh) == "dp 8");
  CHECK(axes_text(plan_on({}, 1)->mesh).empty());
  CHECK(axes_text(plan_on(asked(8, 0), 16)->mesh) == "fsdp 8, dp 2");
  CHECK(axes_text(plan_on(asked(0, 0, 2), 16)->mesh) == "tp 2, dp 8");
  ParallelRequest all;
  all.fsdp = true;
  const auto plan = plan_on(all, 8);
  CHECK(axes_text(plan->mesh) == "fsdp 8");
  CHECK(plan->sharded == Sharded::kWeights);
  CHECK(plan->sharded_by == ShardedBy::kFsdp2);
  // ZeRO's data parallel ranks are those that shard.
  ParallelRequest zero = asked(0, 4, 2);
  zero.zero = 2;
  CHECK(axes_text(plan_on(zero, 8)->mesh) == "tp 2, fsdp 4");
  CHECK(plan_on(zero, 8)->sharded == Sharded::kGradients);
  CHECK(plan_on(zero, 8)->sharded_by == ShardedBy::kZero);
}

TEST_CASE("a plan: stage 2 of FSDP keeps weights gathered, stage 1 it has not") {
  ParallelRequest request = asked(4, 0);
  request.zero = 2;
  CHECK(plan_on(request, 4)->sharded == Sharded::kWeights);
  CHECK(plan_on(request, 4)->keeps_gathered);
  request.zero = 1;
  CHECK(plan_on(request, 4).error().front().code == "E114");
}

TEST_CASE("a plan that cannot be is refused with the nearest that can") {
  const auto help = [](const ParallelRequest& request, int64_t gpus) {
    const auto plan = plan_on(request, gpus);
    REQUIRE(!plan);
    CHECK(plan.error().front().code == "E120");
    return plan.error().front().help;
  };
  CHECK(help(asked(8, 0), 12).find("fsdp=6 for 12 GPUs") != std::string::npos);
  CHECK(help(asked(8, 2), 32).find("fsdp=16 for 32 GPUs") != std::string::npos);
  ParallelRequest far = asked(4, 0);
  far.rank = 4;
  CHECK(plan_on(far, 4).error().front().code == "E120");
}

TEST_CASE("a plan: what libraries do not offload is refused, with what they do") {
  const auto refusal = [](const ParallelRequest& request, int64_t gpus) {
    const auto plan = plan_on(request, gpus);
    return plan ? std::string() : plan.error().front().help;
  };
  ParallelRequest request;
  request.offload.states = true;
  CHECK(plan_on(request, 1)->offload.states);
  CHECK_FALSE(plan_on(request, 1)->is_sharded());
  CHECK(refusal(request, 4).find(setting("zero", "2")) != std::string::npos);
  request.fsdp = true;
  CHECK(refusal(request, 4).find(setting("offload", "parameters")) != std::string::npos);
  request.offload.parameters = true;
  CHECK(plan_on(request, 4)->offload.states);
  CHECK(plan_on(request, 1)->is_sharded());
  request.fsdp = false;
  CHECK(refusal(request, 1).find("fsdp") != std::string::npos);
  request.zero = 2;
  CHECK(refusal(request, 4).find(setting("zero", "3")) != std::string::npos);
  request.zero = 3;
  CHECK(plan_on(request, 4)->offload.parameters);
}

}  // namespace plimsoll
