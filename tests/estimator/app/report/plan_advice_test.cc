// What people read of a cluster's plans: the first line, the flags to paste, links, counts.
#include "estimator/app/report/plan_advice.h"

#include <doctest/doctest.h>

#include <string>

#include "graph/base/setting.h"

namespace plimsoll {
namespace {

PlanAdvice example_of_plans() {
  const std::string flags = setting("tp", "8") + " " + setting("batch", "1");
  PlanAdvice advice{.device_id = "h100-sxm-80gb",
                    .sample_unit = "tokens",
                    .usable_bytes = int64_t{80} << 30,
                    .gpus = 32,
                    .nodes = 4,
                    .global_batch = 512,
                    .counts = {.considered = 1000,
                               .refused = 10,
                               .kept_too_much = 600,
                               .compared = 390,
                               .estimated = 40},
                    .reason = "of its step 4 % is waiting"};
  advice.plans.push_back({.settings = flags,
                          .verdict = Verdict::kFits,
                          .device_bytes = int64_t{40} << 30,
                          .step_ns = 2'000'000'000,
                          .communication_ns = 80'000'000,
                          .samples_per_second = 16,
                          .mfu = .4});
  advice.crossings.push_back({.axis = "tp",
                              .ranks = 8,
                              .per_node = 8,
                              .link = "nvlink-4",
                              .network = "",
                              .what = "sums feature maps"});
  return advice;
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("plan advice: verdict first, then flags, links and how many plans there were") {
  const std::string text = to_text(example_of_plans());
  CHECK(
      text.starts_with("FITS   32 x h100-sxm-80gb in 4 machines: peak 40.0 GiB of 80.0 GiB, step "
                       "2.00 s, 16.0 tokens/s"));
  CHECK(says(text, "best: --tp 8 --batch 1"));
  CHECK(says(text, "why: of its step 4 % is waiting."));
  CHECK(says(text, "tp 8, over nvlink-4: sums feature maps."));
  CHECK(says(text, "\n  1     40.0 GiB  2.00 s"));
  CHECK(says(text, "\n1: --tp 8 --batch 1\n"));
  CHECK(says(text, "1000 plans train 512 samples per update"));
  const std::string first = to_text(example_of_plans(), {}, true);
  CHECK(first == text.substr(0, first.size()));
  CHECK(first.find('\n') == first.size() - 1);
}

TEST_CASE("plan advice: what is short and what would do") {
  PlanAdvice advice = example_of_plans();
  advice.plans.front().verdict = Verdict::kDoesNotFit;
  advice.nearest = NearestFit{.plan = advice.plans.front(),
                              .missing_bytes = int64_t{3} << 30,
                              .gpus = 64,
                              .nodes = 8,
                              .on_more_gpus = advice.plans.front(),
                              .device_id = "h200",
                              .on_other_device = advice.plans.front()};
  const std::string text = to_text(advice);
  CHECK(text.starts_with("DOES NOT FIT"));
  CHECK(says(text, "Nearest: --tp 8 --batch 1 is 3.0 GiB short."));
  CHECK(says(text, "Fits: 64 GPUs in 8 machines with --tp 8"));
  CHECK(says(text, "Fits: h200 with --tp 8"));
  CHECK_FALSE(says(text, "--network"));
  advice.nodes = 1;
  advice.nearest->gpus = 0;
  CHECK(says(to_text(advice), "--nodes N --network ID"));
  advice.nodes = 4;
  advice.plans.clear();
  CHECK(to_text(advice).starts_with("DOES NOT FIT   no plan for 32 x h100-sxm-80gb in 4 machines"));
}

TEST_CASE("plan advice: JSON has the same figures") {
  const std::string json = to_json(example_of_plans());
  CHECK(says(json, "\"flags\": \"--tp 8 --batch 1\""));
  CHECK(says(json, "\"considered\": 1000"));
  CHECK(says(json, "\"nearest\": null"));
  CHECK(plan_table(example_of_plans().plans).csv().starts_with("flags,device_bytes,step_ns"));
}

}  // namespace plimsoll
