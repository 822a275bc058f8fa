// One run: the memory that an answer names and the time that it names are of the same algorithms,
// those that the framework ends up with on the card.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "estimator/app/sweep/sweep.h"
#include "estimator/estimator.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

Request vgg(const char* framework, int64_t batch) {
  Request request = test::request("builtin:vgg16", "gtx-titan-x", batch);
  request.framework = framework;
  return request;
}

int64_t largest_of_layers(const Estimate& e) {
  return std::ranges::max(e.layers, {}, &LayerEstimate::workspace_bytes).workspace_bytes;
}

}  // namespace

TEST_CASE("operating point: scratch memory that is not free is not taken, and the step is slower") {
  Request request = vgg("torch7", 64);
  const Estimate here = test::answer(request);
  CHECK(here.fits);
  CHECK(here.memory.verdict == Verdict::kFits);
  CHECK(here.memory.device_bytes <= here.usable_bytes);
  CHECK(here.memory.workspace_bytes > int64_t{1} << 30);
  CHECK(here.memory.workspace_bytes == largest_of_layers(here));
  // A limit larger than everything changes nothing.
  request.workspace_limit = int64_t{64} << 30;
  const Estimate asked = test::answer(request);
  CHECK(asked.time.step_ns == here.time.step_ns);
  CHECK(asked.memory.device_bytes == here.memory.device_bytes);
  // With room for all of it the step is faster and takes more.
  request.memory_bytes = int64_t{32} << 30;
  const Estimate roomy = test::answer(request);
  CHECK(roomy.time.step_ns < here.time.step_ns);
  CHECK(roomy.memory.device_bytes > here.usable_bytes);
  // Where not even the least fits the card is no limit.
  request.memory_bytes = int64_t{6} << 30;
  const Estimate none = test::answer(request);
  CHECK_FALSE(none.fits);
  CHECK(none.time.step_ns == roomy.time.step_ns);
}

TEST_CASE("operating point: what a framework needs is of the step that is timed") {
  for (const char* framework : {"tensorflow-1", "mxnet", "cntk"}) {
    CAPTURE(framework);
    Request request = vgg(framework, 16);
    const Estimate timed = test::answer(request);
    request.workspace_limit = 0;
    const Estimate least = test::answer(request);
    CHECK(timed.time.step_ns < least.time.step_ns);
    CHECK(timed.memory.device_bytes > least.memory.device_bytes);
    CHECK(timed.memory.workspace_bytes == largest_of_layers(timed));
    // The other end is in the range.
    CHECK(timed.memory.device_range.low <= least.memory.device_bytes);
    CHECK(timed.memory.device_range.high >= timed.memory.device_bytes);
  }
}

TEST_CASE("operating point: a larger limit is never slower and never takes less") {
  constexpr std::array kFrameworks = {"torch7", "tensorflow-1", "mxnet",       "cntk",  "caffe",
                                      "caffe2", "chainer",      "pytorch-1.4", "theano"};
  for (const char* framework : kFrameworks) {
    CAPTURE(framework);
    Request request = test::request("builtin:alexnet-kim", "gtx-titan-x", 64);
    request.framework = framework;
    std::optional<Estimate> less;
    for (const int64_t mebibytes : {0, 8, 64, 512, 4096}) {
      CAPTURE(mebibytes);
      request.workspace_limit = mebibytes << 20;
      Estimate more = test::answer(request);
      if (less) {
        CHECK(more.time.step_ns <= less->time.step_ns);
        CHECK(more.memory.workspace_bytes >= less->memory.workspace_bytes);
        // Blocks that a cache keeps may serve others: what it holds need not grow.
        const bool cached = request.framework == "pytorch-1.4" || request.framework == "chainer";
        if (!cached) CHECK(more.memory.device_bytes >= less->memory.device_bytes);
      }
      less = std::move(more);
    }
  }
}

TEST_CASE("operating point: a sweep answers as estimate() does where memory is short") {
  const Request request = vgg("torch7", 64);
  const std::vector<Request> variants = {request};
  const std::vector<SizeAxis> sizes = {{"batch", {32, 64}}};
  std::vector<SweepPoint> points;
  const auto swept = sweep(variants, sizes, test::hwdb(), {}, [&](const SweepPoint& point) {
    points.push_back(point);
    return true;
  });
  REQUIRE(swept);
  REQUIRE(points.size() == 2);
  for (size_t i = 0; i < points.size(); ++i) {
    const Estimate single = test::answer(vgg("torch7", sizes[0].values[i]));
    CHECK(points[i].step_ns == single.time.step_ns);
    CHECK(points[i].device_bytes == single.memory.device_bytes);
  }
}

}  // namespace plimsoll
