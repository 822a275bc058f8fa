// From a cluster to its best plans: each is what estimate() says of the request with its settings.
#include "estimator/app/search/plan_search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "estimator/app/html/advise_page.h"
#include "estimator/app/report/human.h"
#include "estimator/app/report/plan_advice.h"
#include "estimator/app/search/changes.h"
#include "estimator/app/search/cluster_plan.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

// Without tensor parallelism and with recomputation: few plans.
Request on_two() {
  Request request = test::request("builtin:gpt2", "rtx-3060", 2);
  request.dims["sequence"] = 128;
  request.recipe.optimizer = find_optimizer("adamw");
  request.recipe.checkpoint = "blocks";
  request.given = {"checkpoint"};
  request.parallel.axes[static_cast<size_t>(Axis::kTensor)] = 1;
  request.gpu_count = 2;
  return request;
}

PlanAdvice plan_advice_for(const Request& request, std::optional<int64_t> global_batch = {}) {
  const auto advice = advise_plans(request, test::hwdb(), {.global_batch = global_batch});
  REQUIRE(advice);
  return *advice;
}

}  // namespace

TEST_CASE("plan search: plans that fit, the fastest first, none beaten on both") {
  const PlanAdvice advice = plan_advice_for(on_two());
  CHECK(advice.global_batch == 4);
  const PlanCounts& c = advice.counts;
  CHECK(c.considered == c.refused + c.kept_too_much + c.compared);
  CHECK(c.estimated > 0);
  REQUIRE(!advice.plans.empty());
  for (size_t i = 0; i < advice.plans.size(); ++i) {
    const PricedPlan& p = advice.plans[i];
    CAPTURE(p.settings);
    CHECK(p.verdict == Verdict::kFits);
    if (i == 0) continue;
    CHECK(p.samples_per_second <= advice.plans[i - 1].samples_per_second);
    CHECK(p.device_bytes < advice.plans[i - 1].device_bytes);
  }
  CHECK(!advice.nearest);
  CHECK(!advice.reason.empty());
  CHECK(!advice.crossings.empty());
  SUBCASE("the first is the estimate of its request") {
    const Estimate e = test::answer(advice.notes.request);
    CHECK(e.memory.device_bytes == advice.plans.front().device_bytes);
    CHECK(e.time.step_ns == advice.plans.front().step_ns);
  }
  SUBCASE("lanes of the first, where they are asked for") {
    CHECK(!advice.lanes);
    const auto with = advise_plans(on_two(), test::hwdb(), {.lanes = true});
    REQUIRE(with);
    REQUIRE(with->lanes);
    CHECK(!with->lanes->gpu.empty());
    CHECK(with->lanes->axes.size() == advice.crossings.size());
    CHECK(advise_page(*with, "m", "c").find("data-chart=\"lanes\"") != std::string::npos);
    CHECK(advise_page(advice, "m", "c").find("data-chart=\"lanes\"") == std::string::npos);
  }
  SUBCASE("as many threads as wanted find the same") {
    const auto again = advise_plans(on_two(), test::hwdb(), {.global_batch = {}, .threads = 2});
    REQUIRE(again);
    CHECK(to_json(*again) == to_json(advice));
  }
}

// A model of `blocks`, of which no plan is left out: each is estimated, one by one.
void check_best_of_all(const Request& request, int64_t blocks, int64_t samples) {
  const PlanAdvice advice = plan_advice_for(request, samples);
  const auto plans = cluster_plans(request, {.gpus = request.gpu_count,
                                             .per_node = request.gpu_count / request.nodes,
                                             .blocks = blocks,
                                             .samples = samples,
                                             .fixed_passes = true});
  REQUIRE(advice.counts.considered == static_cast<int64_t>(plans.size()));
  CHECK(static_cast<size_t>(advice.counts.estimated) < plans.size());
  double fastest = 0;
  std::string best;
  for (const ClusterPlan& plan : plans) {
    const auto e = estimate(with_plan(request, plan), test::hwdb());
    if (!e || e->memory.verdict != Verdict::kFits) continue;
    if (e->time.samples_per_second > fastest) best = settings_of(plan);
    fastest = std::max(fastest, e->time.samples_per_second);
  }
  CAPTURE(best);
  REQUIRE(!advice.plans.empty());
  CAPTURE(advice.plans.front().settings);
  CHECK(advice.plans.front().samples_per_second == fastest);
}

TEST_CASE("plan search: the best of all plans, each estimated") {
  SUBCASE("two cards") { check_best_of_all(on_two(), 12, 4); }
  SUBCASE("stages over a slow network, of which the last has the head") {
    Request request = on_two();
    request.gpu_count = 4;
    request.nodes = 2;
    request.network = "ethernet-10g";
    request.parallel.schedule = Schedule::kOneForwardOneBackward;
    check_best_of_all(request, 12, 8);
  }
}

TEST_CASE("plan search: where nothing fits, what is short and what would do") {
  Request request = on_two();
  request.memory_bytes = int64_t{1} << 30;
  const PlanAdvice advice = plan_advice_for(request);
  REQUIRE(advice.nearest);
  CHECK(advice.plans.empty() == (advice.counts.estimated == 0));
  CHECK(advice.nearest->missing_bytes > 0);
  CHECK(!advice.nearest->plan.settings.empty());
  CHECK(!advice.nearest->device_id.empty());
  CHECK(to_text(advice).find("DOES NOT FIT") == 0);
}

TEST_CASE("plan search: more GPUs of the same card, where they would do") {
  Request request = on_two();
  request.parallel.axes[static_cast<size_t>(Axis::kStage)] = 1;
  request.memory_bytes = int64_t{1600} << 20;
  const PlanAdvice advice = plan_advice_for(request, 16);
  REQUIRE(advice.nearest);
  CHECK(advice.nearest->gpus > request.gpu_count);
  CHECK(advice.nearest->on_more_gpus.verdict == Verdict::kFits);
  CHECK(advice.nearest->on_more_gpus.device_bytes < advice.usable_bytes);
  // What is shown first is what is nearest, not what would be fastest.
  CHECK(to_text(advice).find(human_bytes(advice.nearest->plan.device_bytes)) < 60);
  CHECK(to_text(advice).find("best:") == std::string::npos);
}

TEST_CASE("plan search: days of a run and what they cost") {
  const auto advice = advise_plans(on_two(), test::hwdb(), {.tokens = 3600e9, .price = 2.});
  REQUIRE(advice);
  const PricedPlan& best = advice->plans.front();
  REQUIRE(best.tokens_per_second);
  REQUIRE(best.run_ns);
  REQUIRE(best.run_price);
  CHECK(static_cast<double>(*best.run_ns) ==
        doctest::Approx(3600e18 / *best.tokens_per_second).epsilon(1e-6));
  CHECK(*best.run_price == doctest::Approx(2. * 2 * 1e9 / *best.tokens_per_second).epsilon(1e-6));
  CHECK(!plan_advice_for(on_two()).plans.front().run_price);
}

TEST_CASE("plan search: samples that no plan shares") {
  Request request = on_two();
  request.parallel.axes[static_cast<size_t>(Axis::kStage)] = 1;
  const auto advice = advise_plans(request, test::hwdb(), {.global_batch = 3});
  REQUIRE(!advice);
  CHECK(advice.error().front().code == "E120");
}

TEST_CASE("plan search: of several GPUs that train") {
  Request request = test::request("builtin:gpt2", "a100-sxm-40gb", 1);
  CHECK_FALSE(shares_training(request));
  request.gpu_count = 2;
  CHECK(shares_training(request));
  request.recipe.mode = Mode::kInference;
  CHECK_FALSE(shares_training(request));
}

}  // namespace plimsoll
