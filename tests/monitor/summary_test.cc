#include "monitor/summary.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "estimator/app/report/schemas.h"
#include "monitor/attribution.h"
#include "tests/support/samples.h"
#include "tests/support/schema_fault.h"
#include "tests/support/stored_schema.h"

using namespace plimsoll::monitor;
using nlohmann::json;
using plimsoll::test::card;
using plimsoll::test::host_sample;
using plimsoll::test::kMebibyte;
using plimsoll::test::schema_fault;

namespace {

Sample on_card(double seconds, int64_t host_mib, std::optional<int64_t> mib, bool ours = true) {
  Sample sample = host_sample(seconds, host_mib);
  std::optional<int64_t> bytes;
  if (mib) bytes = *mib * kMebibyte;
  attribute({.gpus = {card(40, bytes)}}, ours, sample);
  return sample;
}

}  // namespace

TEST_CASE("peaks are of the whole run, totals of its end") {
  SummaryBuilder builder;
  for (const int64_t mib : {100, 300, 200}) {
    Sample sample = on_card(static_cast<double>(mib), mib, 2 * mib);
    sample.host.cpu_seconds = static_cast<double>(mib);
    builder.take(sample);
  }
  const Summary& s = builder.so_far();
  CHECK(s.samples == 3);
  CHECK(s.host_peak == 300 * kMebibyte);
  CHECK(s.device_peak == 600 * kMebibyte);
  CHECK(s.basis == DeviceBasis::kProcess);
  CHECK(s.cpu_seconds == 200);
  CHECK(s.devices[0].utilisation == doctest::Approx(0.75));
  builder.take_peak(250 * kMebibyte);
  CHECK(builder.so_far().host_peak == 300 * kMebibyte);
  builder.take_peak(350 * kMebibyte);
  CHECK(builder.so_far().host_peak == 350 * kMebibyte);
}

TEST_CASE("peaks of a process and of the whole card are not mixed") {
  SummaryBuilder builder;
  builder.take(on_card(0, 100, 9000));
  builder.take(on_card(1, 100, std::nullopt));  // from now on the card's 3 GiB
  builder.take(on_card(2, 100, 9000));
  CHECK(builder.so_far().basis == DeviceBasis::kCard);
  CHECK(builder.so_far().device_peak == 3072 * kMebibyte);
  CHECK(builder.so_far().devices[0].bytes == 3072 * kMebibyte);
}

TEST_CASE("the summary as JSON is as its schema says") {
  plimsoll::test::check_stored_schema("monitor", monitor_schema());
  const json schema = json::parse(plimsoll::schema_text("monitor"));
  SummaryBuilder builder(Band{.device = Predicted{100, {90, 110}}, .device_id = "tesla-t4"});
  builder.take(on_card(0, 100, 512));
  Summary full = builder.so_far();
  full.pid = 40;
  full.command = "train \x1b[2J";
  full.phases = {{.kind = PhaseKind::kGrowing, .end = 3, .device_peak = 5}};
  full.exit_status = 137;
  full.faults = {"GPU 0: x"};
  const json document = json::parse(to_json(full));
  CHECK(schema_fault(schema, document) == "");
  CHECK(document["result"]["prediction"]["device_memory"]["peak"] == "above");
  CHECK(document["result"]["exit_status"] == 137);
  Summary bare;
  bare.pid = 1;
  const json empty = json::parse(to_json(bare));
  CHECK(schema_fault(schema, empty) == "");
  CHECK(empty["result"]["device_peak_bytes"].is_null());
  // The check can fail:
  json other = document;
  other["result"]["host_peak_bytes"] = 1.5;
  CHECK(schema_fault(schema, other) != "");
}
