// The page of a watched run: the JSON inside, tables, what is left out.
#include "monitor/page.h"

#include <doctest/doctest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "estimator/app/report/schemas.h"
#include "monitor/attribution.h"
#include "tests/support/samples.h"
#include "tests/support/schema_fault.h"

using namespace plimsoll::monitor;
using nlohmann::json;
using plimsoll::test::card;
using plimsoll::test::host_sample;
using plimsoll::test::kMebibyte;
using plimsoll::test::schema_fault;

namespace {

json inside_of(const std::string& page) {
  const std::string mark = "id=\"plimsoll-result\">";
  const size_t begin = page.find(mark) + mark.size();
  return json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

struct WatchedRun {
  Summary summary;
  Moments moments;
};

// A run of a process on so many cards, each of which holds 5 MiB and then 9.
WatchedRun watched_run(int samples, size_t cards, std::optional<Band> band = {}) {
  WatchedRun run;
  SummaryBuilder builder(std::move(band));
  for (int i = 0; i < samples; ++i) {
    plimsoll::monitor::Sample sample = host_sample(0.1 * i, 100 + i % 7);
    sample.host.pss = 99 * kMebibyte;
    const std::vector<plimsoll::GpuReading> gpus(cards,
                                                 card(40, (i + 1 < samples ? 5 : 9) * kMebibyte));
    attribute({.gpus = gpus}, true, sample);
    builder.take(sample);
    run.moments.take(sample);
  }
  run.summary = builder.so_far();
  run.summary.pid = 40;
  run.summary.command = "python3 train.py";
  run.summary.ended = true;
  run.summary.exit_status = 0;
  run.summary.phases = {{.kind = PhaseKind::kGrowing, .end = 1},
                        {.kind = PhaseKind::kSteady, .begin = 1, .end = 2}};
  return run;
}

bool page_has(const std::string& page, std::string_view text) {
  return page.find(text) != page.npos;
}

}  // namespace

TEST_CASE("monitor's page: the answer, the figures over time, and the JSON inside") {
  const WatchedRun run = watched_run(20, 1);
  const std::string page = to_page(run.summary, run.moments, "plimsoll-monitor --html x -- 'a b'");
  CHECK(page_has(page, ">EXIT 0</span>after 1.9 s"));
  CHECK(page_has(page, "GPU 0 peak</dt>"));
  CHECK(page_has(page, ">9.0 MiB"));
  CHECK(page_has(page, "RSS 106.0 MiB, PSS 99.0 MiB"));
  CHECK(page_has(page, "Repeat it: <code>plimsoll-monitor --html x -- &#39;a b&#39;"));
  for (const char* chart :
       {"watched_gpu_memory", "watched_host_memory", "watched_load", "watched_power"})
    CHECK(page_has(page, "data-chart=\"" + std::string(chart) + "\""));
  CHECK_FALSE(page_has(page, "the peak of no sample is lost"));
  const json inside = inside_of(page);
  CHECK(schema_fault(json::parse(plimsoll::schema_text("monitor")), inside) == "");
  CHECK(inside["result"]["moments"].size() == 20);
  CHECK(inside["result"]["moments"][19]["gpus"][0]["bytes"] == 9 * kMebibyte);
}

TEST_CASE("monitor's page: whether the run was within what was predicted") {
  const auto page_with = [](plimsoll::Range range) {
    const WatchedRun run = watched_run(
        20, 1, Band{.device = Predicted{range.high, range}, .device_id = "tesla-t4", .step_ns = 5});
    return to_page(run.summary, run.moments, "x");
  };
  CHECK(page_has(page_with({8 * kMebibyte, 10 * kMebibyte}), "WITHIN THE PREDICTED RANGE"));
  CHECK(page_has(page_with({7 * kMebibyte, 8 * kMebibyte}), "ABOVE THE PREDICTED RANGE"));
  const std::string below = page_with({10 * kMebibyte, 12 * kMebibyte});
  CHECK(page_has(below, "BELOW THE PREDICTED RANGE"));
  CHECK(page_has(below, "range 10.0 MiB to 12.0 MiB: the peak is below it"));
}

TEST_CASE("monitor's page: an end that was not one's own, and a watch without a sample") {
  WatchedRun run = watched_run(3, 0);
  run.summary.exit_status = 137;
  run.summary.gpu_source = "no library";
  const std::string page = to_page(run.summary, run.moments, "x");
  CHECK(page_has(page, "KILLED BY SIGNAL 9</span>after"));
  CHECK_FALSE(page_has(page, "data-chart=\"watched_gpu_memory"));
  CHECK_FALSE(page_has(page, "data-chart=\"watched_power"));
  CHECK(page_has(page, "GPU: no library"));
  const std::string nothing = to_page(Summary{.pid = 40}, Moments(), "x");
  CHECK_FALSE(page_has(nothing, "data-chart=\""));
  CHECK(schema_fault(json::parse(plimsoll::schema_text("monitor")), inside_of(nothing)) == "");
}

TEST_CASE("monitor's page: small whatever was watched, and says what it leaves out") {
  for (const size_t cards : {size_t{1}, size_t{8}, size_t{16}}) {
    CAPTURE(cards);
    WatchedRun run = watched_run(30'000, cards);
    run.summary.phases.clear();
    for (int i = 0; i < 100'000; ++i)
      run.summary.phases.push_back({.begin = 1.0 * i, .end = i + (i == 777 ? 1.0 : 0.5)});
    run.summary.faults.assign(1000, "NVML: something failed");
    const std::string page = to_page(run.summary, run.moments, "x");
    CHECK(page.size() < 1'500'000);
    CHECK(page_has(page, "Of 30000 samples"));
    CHECK(page_has(page, "the peak of no sample is lost"));
    CHECK(page_has(page, "The longest 300 of 100000 phases."));
    const json result = inside_of(page)["result"];
    CHECK(result["phases"].size() == 300);
    CHECK(std::ranges::any_of(result["phases"], [](const json& p) { return p["begin"] == 777; }));
    int64_t most = 0;
    for (const json& m : result["moments"])
      most = std::max(most, m["gpus"].back()["bytes"].get<int64_t>());
    CHECK(most == 9 * kMebibyte);
  }
}

TEST_CASE("monitor's page: what a process calls itself stays text") {
  WatchedRun run = watched_run(3, 1);
  run.summary.command = "</script><script>alert(1)</script>\x1b[2J";
  run.summary.devices[0].name = "<img src=x>";
  run.summary.faults = {"<b>fault</b>"};
  const std::string page = to_page(run.summary, run.moments, "<i>command</i>");
  for (const char* markup : {"<script>alert", "<img", "<b>fault", "<i>command", "\x1b"})
    CHECK_FALSE(page_has(page, markup));
  CHECK(page_has(page, "&lt;img src=x&gt;"));
  CHECK(inside_of(page)["result"]["gpus"][0]["name"] == "<img src=x>");
}
