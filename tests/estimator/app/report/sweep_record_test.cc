#include "estimator/app/report/sweep_record.h"
#include "estimator/app/sweep/read_sweep_plan.h"

#include <doctest/doctest.h>

using namespace plimsoll;

namespace {

SweepPlan plan_of_batches() {
  return *read_sweep_plan("model: builtin:mlp\nparameters: {batch: [8, 16], gpu: t4}\n", "p.yaml",
                          {});
}

}  // namespace

TEST_CASE("a sweep's record is read back as it was written") {
  const SweepPlan plan = plan_of_batches();
  SweepPoint point;
  point.device_id = "tesla-t4";
  point.usable_bytes = 15842934784;
  point.device_bytes = 871366656;
  point.device_range_bytes = {800000000, 900000000};
  point.fits = true;
  point.verdict = Verdict::kMayFit;
  point.step_ns = 31712345;
  point.step_range_ns = {20000000, 40000000};
  point.samples_per_second = 17974.123456789012;
  point.sample_unit = "samples";
  point.host_bound = true;
  for (const bool time : {true, false}) {
    const std::string line = to_json_line(plan, {1, {1, 0}}, point, time);
    const auto record = read_sweep_record(line);
    REQUIRE(record);
    CHECK(record->number == 1);
    CHECK(to_json_line(plan, {1, {1, 0}}, record->point, time) == line);
  }
  point.failure =
      Diagnostics{{.code = "E241", .message = "a \"quoted\" reason", .place = {}, .help = {}}};
  const std::string failed = to_json_line(plan, {0, {0, 0}}, point, true);
  const auto record = read_sweep_record(failed);
  REQUIRE(record);
  REQUIRE(record->point.failure);
  CHECK(to_json_line(plan, {0, {0, 0}}, record->point, true) == failed);
}

TEST_CASE("what is no record of a sweep is not taken for one") {
  const SweepPlan plan = plan_of_batches();
  SweepPoint point;
  point.device_id = "tesla-t4";
  const std::string line = to_json_line(plan, {0, {0, 0}}, point, true);
  REQUIRE(read_sweep_record(line));
  for (const char* member : {"configuration", "device_id", "fits", "verdict", "usable_bytes",
                             "device_bytes", "device_range_bytes", "step_range_ns"}) {
    CAPTURE(std::string(member));
    std::string without = line;
    without.replace(without.find(member), 1, "x");
    CHECK(!read_sweep_record(without));
  }
  for (const char* text : {"", "{}", "[1]", "{\"configuration\":0,\"error\":{}}", "no JSON"})
    CHECK(!read_sweep_record(text));
}
