#include "estimator/pipeline.h"

#include <doctest/doctest.h>

#include "tests/support/requests.h"

namespace plimsoll {
namespace {

// Four stages of three layers; the last one's head multiplies as much as four layers.
Request uneven() {
  Request asked = test::request("builtin:megatron-gpt", "a100-sxm-80gb", 4);
  asked.settings = {{"layers", "12"}, {"heads", "16"}};
  asked.gpu_count = 4;
  asked.parallel.axes[static_cast<size_t>(Axis::kStage)] = 4;
  asked.recipe.accumulate = 2;
  asked.recipe.precision = find_precision("mixed-fp16");
  return asked;
}

}  // namespace

TEST_CASE("pipeline: the slowest stage waits for the others at their own pace") {
  CHECK(StageWaits{{10, 10, 10, 30}, 3}.other_stages(4) == doctest::Approx(1. / 3));
  CHECK(StageWaits{{30, 30}, 0}.other_stages(2) == doctest::Approx(1));
  // Four between the second and the last but one, as these in the mean.
  CHECK(StageWaits{{10, 10, 20, 30}, 3}.other_stages(8) == doctest::Approx(100. / (7 * 30)));
  CHECK(StageWaits{{30}, 0}.other_stages(1) == 1);
  CHECK(StageWaits{{0, 0}, 0}.other_stages(2) == 1);  // nothing is timed
}

TEST_CASE("pipeline: rates follow a shorter step") {
  TimeEstimate t;
  t.step_ns = 100;
  t.bubble_ns = 30;
  t.step_range_ns = {80, 140};
  t.samples_per_second = 8;
  t.mfu = .4;
  t.epoch_ns = 1000;
  wait_for_others(1. / 3, t);
  CHECK(t.bubble_ns == 10);
  CHECK(t.step_ns == 80);
  CHECK(t.step_range_ns.low == 64);
  CHECK(t.step_range_ns.high == 112);
  CHECK(t.samples_per_second == doctest::Approx(10));
  CHECK(*t.mfu == doctest::Approx(.5));
  CHECK(*t.epoch_ns == 800);
  CHECK_FALSE(t.run_ns);
}

TEST_CASE(
    "pipeline: a head makes the last stage slow, and the step that of its passes and theirs") {
  Request asked = uneven();
  asked.detail = true;
  const Estimate all = *estimate_stages(asked, test::hwdb());
  Request last = asked;
  last.parallel.rank = 3;
  last.given.insert("rank");
  const Estimate slowest = *estimate_stages(last, test::hwdb());
  // As if all were as slow, three passes of five are waiting.
  CHECK(slowest.time.bubble_ns > .5 * static_cast<double>(slowest.time.step_ns));
  CHECK(all.time.bubble_ns < .6 * static_cast<double>(slowest.time.bubble_ns));
  CHECK(all.time.step_ns - all.time.bubble_ns ==
        doctest::Approx(static_cast<double>(slowest.time.step_ns - slowest.time.bubble_ns))
            .epsilon(1e-3));
  // The picture is of the same step.
  REQUIRE(all.time.lanes);
  CHECK(all.time.lanes->gpu.back().end_ns ==
        doctest::Approx(static_cast<double>(all.time.step_ns)).epsilon(.01));
  REQUIRE(all.time.lanes->stages.size() == 4);
  CHECK(all.time.lanes->stages[3].spans.back().end_ns <= all.time.step_ns);
}

}  // namespace plimsoll
