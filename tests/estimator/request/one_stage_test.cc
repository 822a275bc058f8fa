#include "estimator/request/one_stage.h"

#include <algorithm>
#include <vector>

#include "estimator/estimator.h"
#include "estimator/request/find_platform.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

Request on_stages(int64_t stages, int64_t micro_batches = 4) {
  Request request;
  request.model = "builtin:gpt2";
  request.devices = {"a100-sxm-80gb"};
  request.batch = 2;
  request.gpu_count = stages;
  request.recipe.optimizer = find_optimizer("adam");
  request.recipe.accumulate = micro_batches;
  request.parallel.axes[static_cast<size_t>(Axis::kStage)] = stages;
  return request;
}

}  // namespace

TEST_CASE("one stage: a search of a pipeline wants to know which rank is looked at") {
  Request request = on_stages(4);
  const auto platform = find_platform(test::hwdb(), request, request.devices.front());
  REQUIRE(platform);
  const auto refused = check_one_stage(request, *platform);
  REQUIRE(!refused);
  CHECK(refused.error().front().code == "E114");
  request.given.insert("rank");
  CHECK(check_one_stage(request, *platform));
  CHECK(check_one_stage(on_stages(1), *find_platform(test::hwdb(), on_stages(1), "a100-sxm-80gb")));
}

TEST_CASE("stages: the answer is of the one that needs most, at the slowest one's time") {
  const Request request = on_stages(4);
  const auto worst = estimate(request, test::hwdb());
  REQUIRE_MESSAGE(worst, worst.error().front().message);
  std::vector<double> alike;  // bubbles, if all stages were as the one
  for (int64_t stage = 0; stage < 4; ++stage) {
    Request one = request;
    one.given.insert("rank");
    one.parallel.rank = stage;
    const auto at = estimate(one, test::hwdb());
    REQUIRE_MESSAGE(at, at.error().front().message);
    CHECK(at->memory.device_bytes <= worst->memory.device_bytes);
    CHECK(at->time.step_ns - at->time.bubble_ns <= worst->time.step_ns - worst->time.bubble_ns + 1);
    alike.push_back(static_cast<double>(at->time.bubble_ns));
    // Three of four stages wait while the first micro-batch fills them, and the last one leaves.
    CHECK(alike.back() / static_cast<double>(at->time.step_ns) ==
          doctest::Approx(3.0 / 7).epsilon(.1));
  }
  // The head makes the last stage slow; it waits for the others at their pace.
  CHECK(std::ranges::max(alike) == alike[3]);
  CHECK(static_cast<double>(worst->time.bubble_ns) ==
        doctest::Approx((alike[0] + alike[1] + alike[2]) / 3).epsilon(1e-3));
  const auto many = estimate(on_stages(4, 64), test::hwdb());
  REQUIRE(many);
  const auto share = [](const Estimate& e) {
    return static_cast<double>(e.time.bubble_ns) / static_cast<double>(e.time.step_ns);
  };
  CHECK(share(*many) < share(*worst));
}

TEST_CASE("stages: a weight that two stages read is on both") {
  Request request = on_stages(2);
  request.given.insert("rank");
  const auto parameters = [&](int64_t rank) {
    request.parallel.rank = rank;
    const auto one = estimate(request, test::hwdb());
    REQUIRE_MESSAGE(one, one.error().front().message);
    return one->memory.parameter_bytes;
  };
  constexpr int64_t kWords = int64_t{50257} * 768 * 4, kAll = int64_t{124439808} * 4;
  const int64_t both = parameters(0) + parameters(1);
  CHECK(both >= kAll + kWords);
  CHECK(both < kAll + kWords + (1 << 20));
}

}  // namespace plimsoll
