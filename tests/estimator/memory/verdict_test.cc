#include "estimator/memory/verdict.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "estimator/app/search/batch_memory.h"
#include "estimator/app/search/max_batch.h"
#include "estimator/app/sweep/sweep.h"
#include "estimator/request/find_platform.h"
#include "tests/support/requests.h"

using namespace plimsoll;

TEST_CASE("verdict: by the ends of the range") {
  CHECK(verdict_of({1, 10}, 10) == Verdict::kFits);
  CHECK(verdict_of({1, 10}, 9) == Verdict::kMayFit);
  CHECK(verdict_of({1, 10}, 1) == Verdict::kMayFit);
  CHECK(verdict_of({1, 10}, 0) == Verdict::kDoesNotFit);
  CHECK(name(Verdict::kMayFit) == "may_fit");
}

// Around the edge of a card the verbs disagreed.
TEST_CASE("verdict: estimate, sweep and max-batch say the same of VGG-16 on 8 GB") {
  const Hwdb hwdb = *Hwdb::open();
  const Request request = test::request("builtin:vgg16", "quadro-p4000", 55);
  Platform platform = *find_platform(hwdb, request, "quadro-p4000");
  const int64_t usable = platform.usable_bytes;
  const Evaluator evaluator = *Evaluator::make(std::move(platform), request);
  BatchMemory search(request, evaluator);
  const SizeAxis batches{"batch", {32, 40, 48, 52, 54, 55, 56, 58, 60, 64, 80, 96}};
  const Request one[] = {request};
  const SizeAxis sizes[] = {batches};
  std::vector<Verdict> seen;
  const auto swept = sweep(one, sizes, hwdb, {}, [&](const SweepPoint& p) {
    Request asked = request;
    asked.batch = batches.values[static_cast<size_t>(p.point)];
    CAPTURE(*asked.batch);
    const auto e = estimate(asked, hwdb);
    REQUIRE(e);
    const auto point = search(*asked.batch);
    REQUIRE(point);
    CHECK(p.verdict == e->memory.verdict);
    CHECK(verdict_of({point->low, point->high}, usable) == e->memory.verdict);
    CHECK(p.fits == e->fits);
    seen.push_back(p.verdict);
    return true;
  });
  REQUIRE(swept);
  CHECK(std::ranges::count(seen, Verdict::kFits) > 0);
  CHECK(std::ranges::count(seen, Verdict::kMayFit) > 0);
  CHECK(std::ranges::count(seen, Verdict::kDoesNotFit) > 0);
}

// Regions of TensorFlow's allocator leave the larger of 300 MiB and a twentieth (MinSystemMemory).
TEST_CASE("verdict: a step cannot use what its framework leaves to the system") {
  const auto usable = [](const char* framework, const char* gpu, int64_t reserve) {
    Request request = test::request("builtin:vgg16", gpu, 1);
    request.framework = framework;
    request.reserve_bytes = reserve;
    const Platform platform = *find_platform(*Hwdb::open(), request, gpu);
    return platform.memory_bytes - platform.usable_bytes;
  };
  const int64_t mib = 1 << 20;
  CHECK(usable("tensorflow-1.3", "gtx-titan-x", 0) / mib == 12206 / 20);
  CHECK(usable("tensorflow-1.3", "gtx-titan-x", 6400 * mib) / mib == 6400 + 300);
  CHECK(usable("mxnet-0.11", "gtx-titan-x", 0) == 0);
}
