#include "calibrate/run_report.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "calibrate/kernel_record.h"
#include "calibrate/kernel_run.h"
#include "estimator/app/report/schemas.h"
#include "tests/calibrate/fake_card.h"
#include "tests/support/schema_fault.h"
#include "tests/support/stored_schema.h"

using namespace plimsoll;
using namespace plimsoll::calibrate;
using test::conv_kernel, test::FakeCard;

namespace {

PredictedKernel predicted(KernelAt kernel, double seconds, int64_t forward, int64_t backward,
                          int64_t workspace) {
  PredictedKernel p{.kernel = std::move(kernel),
                    .label = "a kernel",
                    .algorithm = "winograd",
                    .workspace_bytes = workspace,
                    .time = {},
                    .launches = {forward, 0, backward, 0}};
  p.time.seconds = seconds;
  p.time.low = seconds / 1.2;
  p.time.high = seconds * 1.2;
  return p;
}

struct Case {
  std::vector<PredictedKernel> kernels;
  FakeCard card;

  // A convolution predicted 10 % too long, one 50 % too short, element-wise work to the point.
  Case() {
    const double second = 1.02;  // of five samples that grow by 1 % each the median
    kernels.push_back(
        predicted(conv_kernel(1), 1.1 * second * FakeCard::seconds(conv_kernel(1), 1), 3, 0, 5000));
    kernels.push_back(predicted(
        conv_kernel(2, Pass::kBackwardData),
        .5 * second * FakeCard::seconds(conv_kernel(2, Pass::kBackwardData), 1), 0, 2, 1 << 20));
    const KernelAt relu = test::rows_kernel("relu", 64, 1000, 1);
    kernels.push_back(predicted(relu, second * FakeCard::seconds(relu, 0), 1, 1, 0));
  }
  RunReport report(const Tolerances& tolerances) {
    KernelRunPlan plan;
    for (const PredictedKernel& k : kernels) plan.kernels.push_back({k.kernel});
    plan.device = "h100-sxm-80gb";
    auto run = run_kernels(card, plan);
    REQUIRE(run);
    return report_of(kernels, std::move(run->records), tolerances);
  }
};

const ReportSum* find(const RunReport& report, std::string_view name) {
  for (const ReportSum& sum : report.sums) {
    if (sum.name == name) return &sum;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("run report: sums over the step, its phases and classes") {
  Case c;
  const RunReport report = c.report({});
  CHECK(report.rows.size() == 3);
  const double conv1 = 1.02 * FakeCard::seconds(c.kernels[0].kernel, 1);
  const double conv2 = 1.02 * FakeCard::seconds(c.kernels[1].kernel, 1);
  const double relu = 1.02 * FakeCard::seconds(c.kernels[2].kernel, 0);
  const ReportSum* step = find(report, "compared");
  REQUIRE(step);
  CHECK(step->launches == 7);
  CHECK(step->measured == doctest::Approx(3 * conv1 + 2 * conv2 + 2 * relu));
  CHECK(step->predicted == doctest::Approx(3.3 * conv1 + conv2 + 2 * relu));
  CHECK(find(report, "forward")->measured == doctest::Approx(3 * conv1 + relu));
  CHECK(find(report, "backward")->measured == doctest::Approx(2 * conv2 + relu));
  CHECK(find(report, "update") == nullptr);
  CHECK(find(report, "conv")->measured == doctest::Approx(3 * conv1 + 2 * conv2));
  CHECK(find(report, "pointwise")->kernels == 1);
}

TEST_CASE("run report: tolerances on times and workspaces decide") {
  Case c;
  CHECK(c.report({}).gate.passed);
  CHECK(c.report({{"time", {.relative = .55}}}).gate.passed);
  const RunReport tight = c.report({{"time", {.relative = .2}}});
  CHECK_FALSE(tight.gate.passed);
  CHECK(tight.gate.outside == 1);
  CHECK(tight.outside.size() == 1);
  CHECK(c.report({{"workspace", {.bytes = 2 << 20}}}).gate.passed);
  CHECK(c.report({{"workspace", {.bytes = 1 << 20}}}).gate.passed);
  CHECK_FALSE(c.report({{"workspace", {.bytes = 1e6}}}).gate.passed);
  // Where a workspace of none was measured a predicted one is outside all the same.
  c.card.fault = [](const KernelAt&, size_t offer) -> Result<void> {
    if (offer == 1) return error("E722", "fails");
    return {};
  };
  CHECK_FALSE(c.report({{"workspace", {.bytes = 1000}}}).gate.passed);
}

TEST_CASE("run report: what has no time, or a clock that moved, is in no sum, and said") {
  Case c;
  c.card.unknown = [](const KernelAt& k) { return k.kernel_class == KernelClass::kPointwise; };
  c.card.clock = [](int, int sample) { return 1.9e9 - 4e7 * sample; };
  const RunReport report = c.report({{"time", {.relative = 1}}});
  CHECK(report.without_time == 1);
  CHECK(report.gate.compared == 0);
  CHECK_FALSE(report.gate.passed);
  CHECK(text_of(report).find("no time of 1 kernels: no library runs it") != std::string::npos);
  CHECK(text_of(report).find("(clock moved)") != std::string::npos);
  CHECK(text_of(report).find("FAILED 0 compared") != std::string::npos);
}

TEST_CASE("run report: JSON with the contract's paths") {
  Case c;
  RunReport report = c.report({});
  report.device = "h100-sxm-80gb";
  const auto told = nlohmann::json::parse(json_of(report));
  CHECK(told["schema"] == "plimsoll.run");
  test::check_stored_schema("run", run_schema());
  CHECK(test::schema_fault(nlohmann::json::parse(schema_text("run")), told) == "");
  const auto& kernels = told["result"]["kernels"];
  REQUIRE(kernels.size() == 3);
  for (const auto& kernel : kernels) {
    for (const char* key : {"kernel", "measured_ns", "predicted_ns", "range_ns", "workspace_bytes",
                            "predicted_workspace_bytes", "algorithm", "predicted_algorithm"})
      CHECK(kernel.contains(key));
    CHECK(kernel["range_ns"].size() == 2);
  }
  CHECK(told["result"]["summary"].size() == 3);
  for (const auto& summary : told["result"]["summary"]) {
    for (const char* key : {"class", "n", "mape", "bias", "within_range"})
      CHECK(summary.contains(key));
  }
  const auto& conv = told["result"]["summary"][0];
  CHECK(conv["class"] == "conv");
  CHECK(conv["n"] == 2);
  CHECK(conv["mape"].get<double>() == doctest::Approx(.3));
  CHECK(conv["bias"].get<double>() == doctest::Approx(-.2));
  CHECK(conv["within_range"].get<double>() == doctest::Approx(.5));
}
