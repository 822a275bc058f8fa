#include "estimator/app/search/deviations.h"

#include <doctest/doctest.h>

namespace plimsoll {

TEST_CASE("deviations: outlines are corrected as estimates of plans like them came out") {
  ClusterPlan plan{.sharding = {.what = Sharded::kWeights, .fsdp = true}};
  const PlanOutline outline{.kept_bytes = 10, .bytes = 1000, .seconds = 2};
  Deviations deviations;
  CHECK(!deviations.corrected(plan, outline));
  deviations.note(plan, outline, 1200, 3);
  SUBCASE("at another micro-batch, on as many stages as there are") {
    plan.block.micro_batch = 4;
    plan.stages = 2;
    const auto likely = deviations.corrected(plan, {.kept_bytes = 10, .bytes = 500, .seconds = 4});
    REQUIRE(likely);
    CHECK(likely->kept_bytes == 10);
    CHECK(likely->bytes == 600);
    CHECK(likely->seconds == doctest::Approx(6));
  }
  SUBCASE("by the least of them") {
    deviations.note(plan, outline, 1100, 4);
    CHECK(deviations.corrected(plan, outline)->bytes == 1100);
    CHECK(deviations.corrected(plan, outline)->seconds == doctest::Approx(3));
  }
  SUBCASE("where a block is split or shared otherwise, nothing is known") {
    ClusterPlan split = plan, shared = plan;
    split.block.tensor = 2;
    shared.sharding.fsdp = false;
    CHECK(!deviations.corrected(split, outline));
    CHECK(!deviations.corrected(shared, outline));
  }
}

}  // namespace plimsoll
