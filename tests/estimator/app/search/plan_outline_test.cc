// An outline leaves out no plan that fits: what it says a plan keeps is never more than its step
// needs. What it says of memory and time orders plans.
#include "estimator/app/search/plan_outline.h"

#include <doctest/doctest.h>

#include "estimator/request/find_platform.h"
#include "graph/base/setting.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

Request on_four() {
  Request request = test::request("builtin:gpt2", "a100-sxm-40gb", 2);
  request.dims["sequence"] = 128;
  request.recipe.optimizer = find_optimizer("adamw");
  request.recipe.precision = find_precision("mixed-bf16");
  request.gpu_count = 4;
  return request;
}

}  // namespace

TEST_CASE("plan outline: no step needs less than its plan keeps") {
  const Request request = on_four();
  const auto platform = find_platform(test::hwdb(), request, "a100-sxm-40gb");
  REQUIRE(platform);
  BlockPrices prices(request, test::hwdb(), 12);
  REQUIRE(prices.begin({}));
  const auto plans =
      cluster_plans(request, {.gpus = 4, .per_node = 4, .blocks = prices.blocks(), .samples = 16});
  for (size_t i = 0; i < plans.size(); i += 11) {
    CAPTURE(settings_of(plans[i]));
    const BlockSettings wanted[] = {plans[i].block};
    prices.add(wanted, 1);
    const NetworkPrice* price = prices.find(plans[i].block);
    REQUIRE(price);
    const PlanOutline outline = outline_of(plans[i], *price, *platform);
    const Estimate e = test::answer(with_plan(request, plans[i]));
    CHECK(outline.kept_bytes <= e.memory.device_bytes);
    CHECK(outline.kept_bytes <= outline.bytes);
    CHECK(outline.seconds ==
          doctest::Approx(static_cast<double>(e.time.step_ns) * 1e-9).epsilon(.5));
  }
}

TEST_CASE("plan outline: sharding keeps less, and a slow link takes longer") {
  Request request = on_four();
  BlockPrices prices(request, test::hwdb(), 12);
  REQUIRE(prices.begin({}));
  const BlockSettings one[] = {{}};
  prices.add(one, 1);
  const NetworkPrice& price = *prices.find(one[0]);
  ClusterPlan plan{.replicas = 4, .passes = 2};
  const int64_t whole = kept_bytes(plan, price);
  plan.group = 4;
  int64_t before = whole;
  for (const Sharded what : {Sharded::kStates, Sharded::kGradients, Sharded::kWeights}) {
    plan.sharding.what = what;
    CHECK(kept_bytes(plan, price) < before);
    before = kept_bytes(plan, price);
  }
  const auto fast = find_platform(test::hwdb(), request, "a100-sxm-40gb");
  request.link = "pcie-3-x16";
  const auto slow = find_platform(test::hwdb(), request, "a100-sxm-40gb");
  REQUIRE(fast);
  REQUIRE(slow);
  CHECK(outline_of(plan, price, *slow).seconds > outline_of(plan, price, *fast).seconds);
}

}  // namespace plimsoll
