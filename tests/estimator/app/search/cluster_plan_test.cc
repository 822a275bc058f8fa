// Plans of a cluster: each shares all GPUs and all samples, and its settings are what it asks for.
#include "estimator/app/search/cluster_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "estimator/request/parallel_request.h"
#include "estimator/settings/given_settings.h"
#include "graph/base/setting.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

constexpr PlanSpace kSpace{.gpus = 32, .per_node = 8, .blocks = 80, .samples = 512};

Request of_cluster() {
  Request request = test::request("hf:meta-llama/Meta-Llama-3-70B", "h100-sxm-80gb");
  request.gpu_count = 32;
  request.nodes = 4;
  return request;
}

// What a command with these settings asks for.
Request read_back(const std::string& text) {
  GivenSettings given;
  given.model = "hf:meta-llama/Meta-Llama-3-70B";
  with_settings(text, [&](const Setting& s) {
    const auto row = std::ranges::find(settings(), s.name, &SettingRow::name);
    REQUIRE(row != settings().end());
    const bool all = s.name == "fsdp" && s.value.empty();
    given.add(*row, all ? "all" : s.value);
    return std::string();
  });
  const auto request = to_request(given);
  REQUIRE(request);
  return *request;
}

}  // namespace

TEST_CASE("cluster plans: every plan shares all GPUs and all samples of an update") {
  const auto plans = cluster_plans(of_cluster(), kSpace);
  CHECK(plans.size() > 1000);
  for (const ClusterPlan& p : plans) {
    CAPTURE(settings_of(p));
    CHECK(p.block.tensor * p.block.context * p.stages * p.replicas == kSpace.gpus);
    CHECK(p.block.micro_batch * p.passes * p.replicas == kSpace.samples);
    CHECK(p.block.tensor <= kSpace.per_node);
    CHECK(p.passes >= p.stages);
    CHECK(p.replicas % p.group == 0);
    const bool zero = !p.sharding.fsdp && p.sharding.what >= Sharded::kGradients;
    CHECK_FALSE((zero && p.stages > 1));
  }
}

TEST_CASE("cluster plans: the settings of a plan ask for the plan") {
  const Request request = of_cluster();
  const auto plans = cluster_plans(request, kSpace);
  for (size_t i = 0; i < plans.size(); i += 37) {
    CAPTURE(settings_of(plans[i]));
    const Request asked = with_plan(request, plans[i]), read = read_back(settings_of(plans[i]));
    const auto mesh = plan_on(asked.parallel, kSpace.gpus);
    const auto same = plan_on(read.parallel, kSpace.gpus);
    REQUIRE(mesh);
    REQUIRE(same);
    CHECK(*mesh == *same);
    CHECK(mesh->mesh.replicas() == plans[i].replicas);
    CHECK(asked.batch == read.batch);
    CHECK(asked.recipe.accumulate == read.recipe.accumulate);
    CHECK(asked.recipe.checkpoint == read.recipe.checkpoint);
  }
}

TEST_CASE("cluster plans: what the request says holds for all") {
  Request request = of_cluster();
  request.parallel.axes[static_cast<size_t>(Axis::kTensor)] = 4;
  request.parallel.fsdp = true;
  request.recipe.checkpoint = "blocks";
  request.given = {"checkpoint"};
  const auto plans = cluster_plans(request, kSpace);
  CHECK(!plans.empty());
  for (const ClusterPlan& p : plans) {
    CHECK(p.block.tensor == 4);
    CHECK(p.sharding.fsdp);
    CHECK(p.block.checkpoint == "blocks");
  }
  request.parallel.zero = 1;
  request.parallel.fsdp = false;
  for (const ClusterPlan& p : cluster_plans(request, kSpace))
    CHECK(p.sharding.what == Sharded::kStates);
}

TEST_CASE("cluster plans: a micro-batch in flight for each stage behind, or all of GPipe's") {
  ClusterPlan plan{.stages = 4, .passes = 16};
  CHECK(plan.in_flight(0) == 4);
  CHECK(plan.in_flight(3) == 1);
  plan.schedule = Schedule::kForwardFirst;
  CHECK(plan.in_flight(3) == 16);
  plan.stages = 1;
  CHECK(plan.in_flight(0) == 1);
}

TEST_CASE("cluster plans: sequences and experts are shared where the space has them") {
  PlanSpace space = kSpace;
  const auto any = [&](const auto& is) {
    return std::ranges::any_of(cluster_plans(of_cluster(), space), is);
  };
  const auto shares_sequences = [](const ClusterPlan& p) { return p.block.context > 1; };
  const auto shares_experts = [](const ClusterPlan& p) { return p.block.experts > 1; };
  CHECK_FALSE(any(shares_sequences));
  CHECK_FALSE(any(shares_experts));
  space.contexts = 4;
  space.experts = 8;
  CHECK(any(shares_sequences));
  CHECK(any(shares_experts));
  // Ranks with the same experts shard them too, but for DeepSpeed's stage 3.
  CHECK(any([](const ClusterPlan& p) {
    return p.block.experts > 1 && p.sharding.fsdp && p.sharers_of_experts() > 1;
  }));
  CHECK(any([](const ClusterPlan& p) {
    return p.block.experts > 1 && p.sharding.within_node && p.group < p.whole_replicas();
  }));
  CHECK_FALSE(any([](const ClusterPlan& p) {
    return p.block.experts > 1 && !p.sharding.fsdp && p.sharding.what == Sharded::kWeights;
  }));
  const auto plans = cluster_plans(of_cluster(), space);
  for (size_t i = 0; i < plans.size(); i += 97) {
    const ClusterPlan& p = plans[i];
    CAPTURE(settings_of(p));
    CHECK(p.block.tensor * p.block.context * p.stages * p.replicas == space.gpus);
    CHECK(space.experts % p.block.experts == 0);
    const auto mesh = plan_on(with_plan(of_cluster(), p).parallel, space.gpus);
    const auto read = plan_on(read_back(settings_of(p)).parallel, space.gpus);
    REQUIRE(mesh);
    REQUIRE(read);
    CHECK(*mesh == *read);
    CHECK(mesh->mesh == p.mesh());
    if (p.sharding.what != Sharded::kNothing) CHECK(mesh->mesh.shards() == p.sharers());
  }
}

TEST_CASE("cluster plans: each schedule, chunks of as many blocks each") {
  std::set<Schedule> schedules;
  for (const ClusterPlan& p : cluster_plans(of_cluster(), kSpace)) {
    if (p.stages == 1) continue;
    schedules.insert(p.schedule);
    CHECK((p.chunks > 1) == (p.schedule == Schedule::kInterleaved));
    if (p.chunks == 1) continue;
    CHECK(kSpace.blocks % (p.stages * p.chunks) == 0);
    CHECK(p.passes % p.stages == 0);
  }
  CHECK(schedules.size() == 4);
}

}  // namespace plimsoll
