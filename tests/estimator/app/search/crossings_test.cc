// Inner axes stay within a machine, outer ones cross the network.
#include "estimator/app/search/crossings.h"

#include <doctest/doctest.h>

#include "estimator/request/find_platform.h"
#include "tests/support/requests.h"

namespace plimsoll {

TEST_CASE("crossings: each axis of more than one rank, with the links between its ranks") {
  Request request = test::request("builtin:gpt2", "h100-sxm-80gb", 1);
  request.gpu_count = 16;
  request.nodes = 2;
  request.network = "infiniband-ndr";
  request.parallel.axes[static_cast<size_t>(Axis::kTensor)] = 4;
  request.parallel.fsdp = true;
  const auto platform = find_platform(test::hwdb(), request, "h100-sxm-80gb");
  REQUIRE(platform);
  const auto crossings = crossings_of(request, *platform);
  REQUIRE(crossings.size() == 2);
  CHECK(crossings[0].axis == "tp");
  CHECK(crossings[0].ranks == 4);
  CHECK(crossings[0].network.empty());
  CHECK(crossings[0].link == platform->link->id);
  CHECK(crossings[1].axis == "fsdp");
  CHECK(crossings[1].ranks == 4);
  CHECK(crossings[1].per_node == 2);
  CHECK(crossings[1].network == "infiniband-ndr");
  for (const Crossing& c : crossings) CHECK(!c.what.empty());
  request.parallel.fsdp = false;
  request.parallel.zero = 1;
  CHECK(crossings_of(request, *platform).back().axis == "dp");
}

}  // namespace plimsoll
