#include "estimator/app/explain/scaling.h"

#include <doctest/doctest.h>

#include "estimator/estimator.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

std::vector<ScalingPoint> points(const Request& request, int64_t first, int64_t last) {
  const auto all = scaling(request, test::hwdb(), first, last);
  REQUIRE(all);
  return all->points;
}

Request alexnet() {
  Request request = test::request("builtin:alexnet-kim", "gtx-titan-x", 64);
  request.framework = "torch7";
  request.link = "pcie-3-dual-socket";
  return request;
}

}  // namespace

TEST_CASE("scaling: each point is what --gpus says by itself") {
  Request request = alexnet();
  const auto all = points(request, 1, 4);
  REQUIRE(all.size() == 4);
  CHECK(all[0].efficiency == doctest::Approx(1));
  CHECK(all[0].communication_ns == 0);
  request.gpu_count = 4;
  const Estimate four = test::answer(request);
  CHECK(all[3].step_ns == four.time.step_ns);
  CHECK(all[3].samples_per_second == four.time.samples_per_second);
}

TEST_CASE("scaling: where GPUs send one after the other the exchange takes over, and is told") {
  const auto all = points(alexnet(), 2, 16);
  CHECK_FALSE(all.front().exchange_leads);
  CHECK(all.back().exchange_leads);
  CHECK(all.back().efficiency < .2);
  CHECK_FALSE(all[6].beyond_link_data);  // 8, the most of its data
  CHECK(all[7].beyond_link_data);
}

TEST_CASE("scaling: machines multiply, over what joins them") {
  Request request = alexnet();
  request.nodes = 2;
  request.network = "ethernet-1g";
  const auto all = points(request, 1, 2);
  CHECK(all[0].gpus == 2);
  CHECK(all[1].gpus == 4);
  CHECK(all[1].communication_ns > all[0].communication_ns);
  request.network.clear();
  CHECK_FALSE(scaling(request, test::hwdb(), 1, 2).has_value());
}

TEST_CASE("exchange: frameworks differ by their schemes, and a flag takes another") {
  Request request = alexnet();
  request.gpu_count = 4;
  const auto waited = [&](const char* framework, const char* scheme) {
    request.framework = framework;
    request.exchange = scheme;
    return test::answer(request).time.communication_ns;
  };
  CHECK(waited("torch7", "") > waited("caffe", ""));  // three transfers up and down against two
  CHECK(waited("torch7", "") > 4 * waited("torch7", "ring") * 3 / 4);
  CHECK(waited("cntk", "one-bit") < waited("cntk", "") / 5);
  CHECK(waited("mxnet", "device") <= waited("mxnet", "sequential"));
}

TEST_CASE("exchange: a forward pass exchanges nothing") {
  Request request = alexnet();
  request.gpu_count = 4;
  request.recipe.mode = Mode::kInference;
  CHECK(test::answer(request).time.communication_ns == 0);
}

}  // namespace plimsoll
