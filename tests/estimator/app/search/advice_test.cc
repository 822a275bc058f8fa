// Combinations of changes: each is what estimate() says of the request with its flags.
#include "estimator/app/search/advice.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "estimator/app/report/advice.h"
#include "estimator/app/report/spelling.h"
#include "estimator/estimator.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

const Remedy* find(const Advice& advice, const std::string& flags) {
  const auto at = std::ranges::find_if(
      advice.stacks, [&](const Remedy& r) { return spelled(r.settings) == flags; });
  return at == advice.stacks.end() ? nullptr : &*at;
}

Advice advice_for(const Request& request) {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb);
  auto advice = advise(request, *hwdb);
  REQUIRE(advice);
  return *std::move(advice);
}

void check_unbeaten(const std::vector<Remedy>& stacks) {
  for (const Remedy& a : stacks) {
    for (const Remedy& b : stacks) {
      if (&a == &b) continue;
      CAPTURE(a.settings);
      CAPTURE(b.settings);
      CHECK((a.device_bytes < b.device_bytes || a.samples_per_second > b.samples_per_second));
    }
  }
}

}  // namespace

TEST_CASE("advise: combinations that fit, the fastest first, none beaten on both") {
  Request request = test::request("builtin:resnet50", "tesla-t4", 1024);
  request.recipe.optimizer = find_optimizer("adam");
  const Advice advice = advice_for(request);
  CHECK(advice.today.verdict == Verdict::kDoesNotFit);
  REQUIRE(advice.stacks.size() >= 2);
  for (size_t i = 0; i < advice.stacks.size(); ++i) {
    CAPTURE(advice.stacks[i].settings);
    CHECK(advice.stacks[i].verdict == Verdict::kFits);
    CHECK(advice.stacks[i].device_bytes <= advice.usable_bytes);
    if (i > 0)
      CHECK(advice.stacks[i - 1].samples_per_second >= advice.stacks[i].samples_per_second);
  }
  check_unbeaten(advice.stacks);
  SUBCASE("each is the estimate of its flags") {
    const Remedy* both = find(advice, "--precision amp-fp16 --batch 256 --accumulate 4");
    REQUIRE(both);
    Request changed = request;
    changed.recipe.precision = find_precision("amp-fp16");
    changed.batch = 256;
    changed.recipe.accumulate = 4;
    const auto hwdb = Hwdb::open();
    const auto estimated = estimate(changed, *hwdb);
    REQUIRE(estimated);
    CHECK(both->device_bytes == estimated->memory.device_bytes);
    CHECK(both->step_ns == estimated->time.step_ns);
  }
}

TEST_CASE("advise: a model of a family may train adapters, and full training stays on the list") {
  Request request = test::request("hf:meta-llama/Llama-3.2-1B", "rtx-4060-ti-16gb", 8);
  request.dims["sequence"] = 1024;
  request.recipe.optimizer = find_optimizer("adamw");
  const Advice advice = advice_for(request);
  REQUIRE(advice.today.verdict == Verdict::kDoesNotFit);
  const auto any = [&](bool adapters) {
    return std::ranges::any_of(advice.stacks, [&](const Remedy& r) {
      return (spelled(r.settings).find("--finetune") != std::string::npos) == adapters;
    });
  };
  CHECK(any(true));
  CHECK(any(false));
}

TEST_CASE("advise: of a request that fits, what needs less; of what never fits, what needs least") {
  const Advice fits = advice_for(test::request("builtin:resnet50", "a100-sxm-80gb", 64));
  CHECK(fits.today.verdict == Verdict::kFits);
  REQUIRE(!fits.stacks.empty());
  for (const Remedy& r : fits.stacks) CHECK(r.device_bytes < fits.today.device_bytes);
  const Advice never = advice_for(test::request("hf:Qwen/Qwen3-8B", "tesla-k80", 1));
  REQUIRE(!never.stacks.empty());
  for (const Remedy& r : never.stacks) CHECK(r.verdict != Verdict::kFits);
  CHECK(to_text(never).find("DOES NOT FIT") == 0);
}

TEST_CASE("advise: the host as a device has no time to weigh") {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb);
  const auto advice = advise(test::request("builtin:alexnet", "cpu", 8), *hwdb);
  REQUIRE(!advice);
  CHECK(advice.error().front().code == "E116");
}

TEST_CASE("advise: what fits is found without what cannot") {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb);
  const auto both = [&](const Request& request) {
    const auto today = estimate(request, *hwdb);
    REQUIRE(today);
    ModelCache models;
    Trials all(*hwdb, *today, models), fitting(*hwdb, *today, models);
    std::vector<std::string> wanted, found;
    for (const Remedy& r : stacks(request, *hwdb, *today, all)) {
      if (r.verdict == Verdict::kFits) wanted.push_back(r.settings);
    }
    for (const Remedy& r : stacks_that_fit(request, *hwdb, *today, fitting))
      found.push_back(r.settings);
    CHECK(found == wanted);
    return found.size();
  };
  Request request = test::request("builtin:gpt2", "tesla-t4", 64);
  request.recipe.optimizer = find_optimizer("adamw");
  CHECK(both(request) > 0);
  request = test::request("builtin:gpt2-large", "gtx-1050", 8);  // the weights are too much
  request.recipe.optimizer = find_optimizer("adamw");
  CHECK(both(request) == 0);
  request = test::request("hf:Qwen/Qwen2.5-0.5B", "tesla-t4", 4);  // of a pipeline
  request.dims["sequence"] = 1024;
  request.gpu_count = 2;
  request.parallel.axes[static_cast<size_t>(Axis::kStage)] = 2;
  request.recipe.accumulate = 4;
  CHECK(both(request) > 0);
}

TEST_CASE("advise: memory that is too much is that of the stage that needs most today") {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb);
  Request request = test::request("hf:Qwen/Qwen2.5-0.5B", "tesla-t4", 4);
  request.dims["sequence"] = 1024;
  request.gpu_count = 2;
  request.parallel.axes[static_cast<size_t>(Axis::kStage)] = 2;
  request.recipe.accumulate = 4;
  ModelCache models;
  const auto today = estimate(request, *hwdb, &models);
  REQUIRE(today);
  REQUIRE(today->memory.verdict == Verdict::kDoesNotFit);
  const Trials trials(*hwdb, *today, models);
  CHECK(trials.too_much(request) == today->memory.device_bytes);
  request.dims["sequence"] = 8;
  request.batch = 1;
  CHECK_FALSE(trials.too_much(request));
}

}  // namespace plimsoll
