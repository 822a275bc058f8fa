// What a sweep comes to on each GPU.
#include "estimator/app/report/sweep_gpus.h"

#include <doctest/doctest.h>

#include <string>

namespace plimsoll {
namespace {

constexpr int64_t kHourNs = 3600'000'000'000;

SweepPoint ran(const std::string& device, Verdict verdict, std::optional<int64_t> run_ns) {
  SweepPoint point;
  point.device_id = device;
  point.verdict = verdict;
  point.fits = verdict != Verdict::kDoesNotFit;
  point.run_ns = run_ns;
  return point;
}

TEST_CASE("sweep by GPU: verdicts add up, hours are those of what fits, times its GPUs") {
  SweepGpus gpus({{"a100", 2.0}});
  gpus.add(ran("a100", Verdict::kFits, 3 * kHourNs), 2);
  gpus.add(ran("a100", Verdict::kMayFit, kHourNs), 1);
  gpus.add(ran("a100", Verdict::kDoesNotFit, 9 * kHourNs), 1);
  gpus.add(ran("t4", Verdict::kDoesNotFit, kHourNs), 1);
  SweepPoint failed = ran("t4", Verdict::kFits, kHourNs);
  failed.failure.emplace(1);
  gpus.add(failed, 1);
  const std::vector<SweepGpu> all = gpus.all();
  REQUIRE(all.size() == 2);
  CHECK(all[0].device_id == "a100");
  CHECK(all[0].by_verdict[static_cast<size_t>(Verdict::kFits)] == 1);
  CHECK(all[0].by_verdict[static_cast<size_t>(Verdict::kMayFit)] == 1);
  CHECK(all[0].by_verdict[static_cast<size_t>(Verdict::kDoesNotFit)] == 1);
  CHECK(*all[0].gpu_hours == doctest::Approx(7));
  CHECK(*all[0].price == doctest::Approx(14));
  CHECK(all[1].failed == 1);
  CHECK(*all[1].gpu_hours == 0);
  CHECK_FALSE(all[1].price);
  CHECK(to_text(all).find("total: 7.00 GPU hours\n") != std::string::npos);
}

TEST_CASE("sweep by GPU: hours of a run of unknown length are not a sum") {
  SweepGpus gpus;
  gpus.add(ran("a100", Verdict::kFits, kHourNs), 1);
  gpus.add(ran("a100", Verdict::kFits, std::nullopt), 1);
  gpus.add(ran("a100", Verdict::kFits, kHourNs), 1);
  REQUIRE(gpus.all().size() == 1);
  CHECK_FALSE(gpus.all().front().gpu_hours);
  CHECK(to_text(gpus.all()).empty());  // one GPU, no price: the counts are in the line above
  gpus.add(ran("t4", Verdict::kFits, kHourNs), 1);
  CHECK(to_text(gpus.all()).find("all that fit") == std::string::npos);
}

}  // namespace
}  // namespace plimsoll
