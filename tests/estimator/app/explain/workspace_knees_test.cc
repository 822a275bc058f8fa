#include "estimator/app/explain/workspace_knees.h"

#include <doctest/doctest.h>

#include "estimator/estimator.h"
#include "tests/support/requests.h"

namespace plimsoll {

TEST_CASE("workspace knees: less scratch memory never makes a step shorter") {
  Request request = test::request("builtin:alexnet-kim", "gtx-titan-x", 128);
  request.framework = "torch7";
  request.cudnn = "5.1";
  const auto trade = workspace_knees(request, test::hwdb());
  REQUIRE(trade);
  const std::vector<WorkspaceKnee>& knees = trade->limits;
  REQUIRE(knees.size() >= 3);
  CHECK(knees.front().limit_bytes == 0);
  for (size_t i = 1; i < knees.size(); ++i) {
    const WorkspaceKnee &less = knees[i - 1], &more = knees[i];
    CHECK(less.limit_bytes < more.limit_bytes);
    CHECK(less.step_ns >= more.step_ns);
    CHECK(more.workspace_bytes <= more.limit_bytes);
    CHECK((less.step_ns != more.step_ns || less.device_bytes != more.device_bytes));
    // What --workspace-limit says by itself.
    request.workspace_limit = more.limit_bytes;
    const Estimate alone = test::answer(request);
    CHECK(alone.time.step_ns == more.step_ns);
    CHECK(alone.memory.device_bytes == more.device_bytes);
  }
  // Fourier transforms of 5x5 filters: the memory is that of the algorithms that the time is of.
  CHECK(knees.back().workspace_bytes > int64_t{256} << 20);
  CHECK(knees.back().device_bytes > knees.front().device_bytes + (int64_t{256} << 20));
  request.workspace_limit.reset();
  CHECK(static_cast<double>(test::answer(request).time.step_ns) ==
        doctest::Approx(static_cast<double>(knees.back().step_ns)).epsilon(.002));
}

TEST_CASE("workspace knees: a model without convolutions has one") {
  const auto trade = workspace_knees(test::request("builtin:mlp", "gtx-titan-x", 32), test::hwdb());
  REQUIRE(trade);
  const std::vector<WorkspaceKnee>& knees = trade->limits;
  CHECK(knees.size() == 1);
  CHECK(knees.front().workspace_bytes == 0);
}

}  // namespace plimsoll
