// Which ranks keep parts of the same weight, and what they tell each other.
#include "graph/parallel/holders.h"

#include <doctest/doctest.h>

namespace plimsoll {
namespace {

using parallel::Holders;

// 2 of context, 4 of experts, 3 that shard; `rank` is along them in this order.
ParallelPlan plan_at(int64_t rank) {
  ParallelPlan plan;
  plan.sharded = Sharded::kWeights;
  plan.mesh.extent(Axis::kContext) = 2;
  plan.mesh.extent(Axis::kExpert) = 4;
  plan.mesh.extent(Axis::kShard) = 3;
  plan.mesh.rank = rank;
  return plan;
}

constexpr Placement kOfExperts{Axis::kExpert, 0};

int64_t place_among(const Holders& holders) {
  return holders.mesh().joined(Axis::kShard).coordinate(Axis::kShard);
}

}  // namespace

TEST_CASE("holders: all that have samples or parts of them, and of an expert those that have it") {
  const Holders all(plan_at(0), std::nullopt), of_experts(plan_at(0), kOfExperts);
  CHECK(all.ranks() == 24);
  CHECK_FALSE(all.of_experts());
  CHECK(of_experts.ranks() == 6);
  CHECK(of_experts.of_experts());
}

// Rank 13 is 1 along context, 2 along experts and 1 along what shards.
TEST_CASE("holders: a rank is where it was, without the axis of experts") {
  CHECK(place_among(Holders(plan_at(13), std::nullopt)) == 13);
  CHECK(place_among(Holders(plan_at(13), kOfExperts)) == 3);
  CHECK(place_among(Holders(plan_at(23), kOfExperts)) == 5);
}

TEST_CASE("holders: fewer experts than ranks are cut inside") {
  const Holders holders(plan_at(0), kOfExperts);
  CHECK(holders.cut({Dim(6), Dim(8), Dim(4)}) == kShardPart);
  CHECK(holders.cut({Dim(2), Dim(8), Dim(4)}) == Placement{Axis::kShard, 1});
  CHECK(holders.cut({Dim(2)}) == kShardPart);
  CHECK(Holders(plan_at(0), std::nullopt).cut({Dim(2), Dim(8)}) == kShardPart);
}

TEST_CASE("holders: what ranks of one expert tell each other goes along each axis") {
  const auto of = [](const Holders& holders, CollectiveKind kind) {
    return holders.exchanges(kind, Dim(600), kNoBuffer);
  };
  const auto all = of(Holders(plan_at(0), std::nullopt), CollectiveKind::kAllGather);
  REQUIRE(all.size() == 1);
  CHECK(all[0].joined);
  CHECK(all[0].bytes == Dim(600));
  const Holders experts(plan_at(0), kOfExperts);
  const auto gathered = of(experts, CollectiveKind::kAllGather);
  REQUIRE(gathered.size() == 2);
  CHECK(gathered[0].axis == Axis::kContext);
  CHECK(gathered[0].bytes == Dim(200));
  CHECK(gathered[1].axis == Axis::kShard);
  CHECK_FALSE(gathered[1].joined);
  const auto summed = of(experts, CollectiveKind::kReduceScatter);
  REQUIRE(summed.size() == 2);
  CHECK(summed[0].axis == Axis::kShard);
  CHECK(summed[1].bytes == Dim(200));
}

TEST_CASE("holders: a rank that alone has an expert has nobody to ask") {
  ParallelPlan plan;
  plan.mesh.extent(Axis::kExpert) = 4;
  CHECK(Holders(plan, kOfExperts).exchanges(CollectiveKind::kAllGather, Dim(8), 0).empty());
}

}  // namespace plimsoll
