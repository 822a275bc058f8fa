// Pages of max-batch, compare, sweep and validate: the JSON inside, tables, and what is left out.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "estimator/app/html/compare_page.h"
#include "estimator/app/html/max_batch_page.h"
#include "estimator/app/html/sweep_page.h"
#include "estimator/app/html/validation_page.h"
#include "estimator/app/report/largest_batch.h"
#include "estimator/app/report/schemas.h"
#include "estimator/app/sweep/read_sweep_plan.h"
#include "tests/support/requests.h"
#include "tests/support/schema_fault.h"

using namespace plimsoll;
using nlohmann::json;

namespace {

json result_in(const std::string& page) {
  const std::string mark = "id=\"plimsoll-result\">";
  const size_t begin = page.find(mark) + mark.size();
  return json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

SweepPlan plan_of_batches() {
  auto plan =
      read_sweep_plan("{\"parameters\": {\"batch\": [8, 16], \"a<b\": [\"<i>\"]}}", "p", {});
  REQUIRE(plan);
  return *plan;
}

SweepPoint point_of(int64_t bytes, double pace, bool fits) {
  SweepPoint p;
  p.device_id = "l4";
  p.device_bytes = bytes;
  p.usable_bytes = 1000;
  p.fits = fits;
  p.verdict = fits ? Verdict::kFits : Verdict::kDoesNotFit;
  p.samples_per_second = pace;
  return p;
}

ValidationLine line_of(double measured, double predicted) {
  ValidationLine line;
  line.file = "<runs>";
  line.kind = "model";
  line.model = "m";
  line.quantity = "total_ms";
  line.measured = measured;
  line.predicted = predicted;
  line.low = predicted / 2;
  line.high = predicted * 2;
  line.error = predicted / measured - 1;
  return line;
}

}  // namespace

TEST_CASE("compare page: which are unbeaten, and small with many cards") {
  Comparison comparison;
  for (const auto& gpu : {"tesla-t4", "l4", "rtx-4090", "a100", "h100", "h200", "a30", "a10"}) {
    comparison.estimates.push_back(test::answer(test::request("builtin:resnet50", gpu, 32)));
    comparison.prices.emplace_back();
  }
  const std::string page = compare_page(comparison, "plimsoll compare x");
  CHECK(page.find("cheapest") == page.npos);
  CHECK(page.size() < 1'500'000);
  const json inside = result_in(page);
  REQUIRE(inside.size() == comparison.estimates.size());
  bool any = false;
  for (const json& e : inside) {
    any = any || e["result"]["unbeaten"];
    CHECK(e["result"]["layers"].empty());
    CHECK(e["result"]["memory"]["peak"]["parts"].size() > 4);
  }
  CHECK(any);
  CHECK(page.find("FITS ON 8 OF 8") != page.npos);
}

TEST_CASE("compare page: of several models each has its choices, and is beaten by its own alone") {
  Comparison comparison;
  for (const auto& model : {"builtin:resnet50", "builtin:alexnet"}) {
    for (const auto& [gpu, price] : {std::pair("tesla-t4", 0.35), std::pair("h100", 100.0)}) {
      comparison.estimates.push_back(test::answer(test::request(model, gpu, 32)));
      comparison.prices.emplace_back(price);
    }
  }
  const std::string page = compare_page(comparison, "plimsoll compare x y");
  for (const json& e : result_in(page)) {
    CAPTURE(e["input"]["model"].dump());
    CAPTURE(e["result"]["device"]["id"].dump());
    CHECK(e["result"]["unbeaten"]);  // the one takes less, the other is faster
  }
  CHECK(page.find("resnet50 on h100-sxm-80gb") != page.npos);
  CHECK(page.find("cheapest that fits") != page.npos);
  CHECK(page.find("2 models on 2 GPUs") != page.npos);
  const Choices choices = choices_of(comparison, comparison.estimates[2].input.model);
  CHECK(choices.smallest == 2);
  CHECK(choices.fastest == 3);
  CHECK(choices.cheapest == 2);
  CHECK(*price_of_million(comparison, 2) < *price_of_million(comparison, 3));
}

TEST_CASE("max-batch page: the answer, its batches in a table, and the JSON inside") {
  const Request asked = test::request("builtin:alexnet", "tesla-t4", 32);
  auto largest = largest_batch(asked, test::hwdb(), {.multiple = 8, .rounds = 40});
  REQUIRE(largest);
  largest->notes.diagnostics = {warning("W1", "<u>")};
  const std::string page = max_batch_page(*largest, "<b>", "plimsoll");
  CHECK(page.find("SAFE " + std::to_string(largest->answer.safe)) != page.npos);
  CHECK(page.find("&lt;b&gt;") != page.npos);
  CHECK(page.find("<u>") == page.npos);
  CHECK(result_in(page) == json::parse(to_json(*largest)));
  for (const RoundBatch& r : largest->rounds)
    CHECK(page.find("data-v=\"" + std::to_string(r.memory.batch) + "\"") != page.npos);
}

TEST_CASE("sweep page: records, the unbeaten among them, and names that are text") {
  const SweepPlan plan = plan_of_batches();
  SweepPage page(plan, true);
  SweepBest best;
  SweepSummary summary;
  const std::vector<SweepPoint> points = {point_of(10, 5, true), point_of(2000, 9, false)};
  for (size_t i = 0; i < points.size(); ++i) {
    const SweptConfiguration at{static_cast<int64_t>(i), {i, 0}};
    page.add(at, points[i]);
    best.add(at, points[i]);
    add(at, points[i], summary);
  }
  const std::string html = page.to_html(summary, best, "<model>", "plimsoll sweep");
  const json inside = result_in(html);
  REQUIRE(inside["records"].size() == 2);
  CHECK(inside["records"][0]["unbeaten"] == true);
  CHECK(inside["records"][1]["unbeaten"] == false);
  CHECK(inside["records"][0]["unbeaten_on_gpu"] == true);
  CHECK(inside["records"][1]["parameters"]["batch"] == 16);
  CHECK(inside["records_left_out"] == 0);
  CHECK(inside["result"]["configurations"] == 2);
  const json schema = json::parse(schema_text("sweep"));
  CHECK(test::schema_fault(schema, inside) == "");
  json other = inside;
  other["records"][0].erase("parameters");
  CHECK(test::schema_fault(schema, other) != "");
  CHECK(html.find("1 OF 2 FIT") != html.npos);
  CHECK(inside["grids"].empty());  // one parameter alone has several values
  CHECK(html.find("a&lt;b") != html.npos);
  CHECK(html.find("<i>") == html.npos);
}

TEST_CASE("sweep page: by two parameters, each with its front and its price") {
  auto plan = read_sweep_plan(
      R"({"parameters": {"batch": [8, 16], "image": [64, 96], "gpu": ["l4", "t4"]}})", "p", {});
  REQUIRE(plan);
  const auto price = [](const SweepCandidate& c) -> std::optional<double> {
    if (c.point.device_id == "l4") return 3.6;
    return std::nullopt;
  };
  SweepPage page(*plan, true, price);
  SweepBest best;
  SweepSummary summary;
  for (size_t i = 0; i < 8; ++i) {
    const SweptConfiguration at{static_cast<int64_t>(i), {i / 4, i / 2 % 2, i % 2}};
    // The second card is slower and needs more; the largest of both do not fit.
    SweepPoint p = point_of(100 + static_cast<int64_t>(10 * i), i % 2 == 0 ? 10 : 5, i < 6);
    p.device_id = i % 2 == 0 ? "l4" : "t4";
    if (i == 1) p.failure = Diagnostics{error("E1", "no").value()};
    page.add(at, p);
    best.add(at, p);
    add(at, p, summary);
  }
  const std::string html = page.to_html(summary, best, "m", "plimsoll sweep");
  const json inside = result_in(html);
  CHECK(test::schema_fault(json::parse(schema_text("sweep")), inside) == "");
  const json& grids = inside["grids"];
  REQUIRE(grids.size() == 3);
  CHECK(grids[0]["axes"][0]["name"] == "gpu");  // first, wherever the plan has it
  CHECK(grids[0]["axes"][1]["values"] == json({"8", "16"}));
  for (const json& grid : grids) {
    int64_t all = 0;
    for (const json& cell : grid["cells"])
      for (const char* key : {"fits", "may_fit", "does_not_fit", "failed"})
        all += cell[key].get<int64_t>();
    CHECK(all == 8);
  }
  CHECK(grids[0]["cells"][1]["fits"] == 1);  // of the first card with the larger batch
  CHECK(grids[0]["cells"][1]["does_not_fit"] == 1);
  CHECK(grids[0]["cells"][2]["failed"] == 1);
  const json& records = inside["records"];
  CHECK(records[0]["price_of_a_million_samples"].get<double>() == doctest::Approx(100));
  CHECK_FALSE(records[3].contains("price_of_a_million_samples"));
  CHECK(records[3]["unbeaten"] == false);
  CHECK(records[3]["unbeaten_on_gpu"] == true);
  const json& sums = inside["result"];
  CHECK(sums["fits"].get<int64_t>() + sums["may_fit"].get<int64_t>() +
            sums["does_not_fit"].get<int64_t>() + sums["failed"].get<int64_t>() ==
        sums["configurations"]);
}

TEST_CASE("sweep page: of very many, some, and all that are unbeaten") {
  const SweepPlan plan = plan_of_batches();
  SweepPage page(plan, true);
  SweepBest best;
  SweepSummary summary;
  for (int64_t i = 0; i < 20'000; ++i) {
    // The odd one out, at a number that thinning passes over.
    const SweepPoint p = i == 7777 ? point_of(5, 50, true) : point_of(10 + i, 5, true);
    const SweptConfiguration at{i, {0, 0}};
    page.add(at, p);
    best.add(at, p);
    add(at, p, summary);
  }
  const std::string html = page.to_html(summary, best, "m", "plimsoll sweep");
  CHECK(html.size() < 1'500'000);
  const json inside = result_in(html);
  CHECK(inside["records"].size() > 500);
  CHECK(inside["records"].size() < 1100);
  CHECK(inside["records_left_out"] == 20'000 - static_cast<int64_t>(inside["records"].size()));
  CHECK(std::ranges::any_of(inside["records"], [](const json& r) {
    return r["configuration"] == 7777 && r["unbeaten"] == true;
  }));
  CHECK(html.find("configurations are omitted here") != html.npos);
}

TEST_CASE("validation page: all that is out of tolerance, and no more lines than a page holds") {
  ValidationPage page;
  Summaries summaries;
  for (int i = 0; i < 5000; ++i) {
    const ValidationLine line = line_of(100, i == 4000 ? 200 : 101);
    page.add(line, i == 4000 ? LineState::kOutside : LineState::kInside);
    summaries.add(line);
  }
  const Gate gate{.passed = false, .compared = 5000, .outside = 1, .skipped = 0};
  const std::string html = page.to_html(summaries.take(), gate, {}, "plimsoll validate");
  CHECK(html.size() < 1'500'000);
  const json inside = result_in(html);
  CHECK(inside["records"].size() == 1001);
  CHECK(inside["records"].back()["within_tolerance"] == false);
  CHECK(inside["summary"][0]["n"] == 5000);
  CHECK(test::schema_fault(json::parse(schema_text("validate")), inside) == "");
  CHECK(html.find("FAILED") != html.npos);
  CHECK(html.find("3999 lines are left out here") != html.npos);
  CHECK(html.find("&lt;runs&gt;") != html.npos);
}
