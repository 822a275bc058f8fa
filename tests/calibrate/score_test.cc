#include "calibrate/score.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "hwdb/hwdb.h"

namespace plimsoll {
namespace {

// Products of growing size on one card, each measured to take a microsecond for a row.
struct Products {
  std::vector<MeasuredKernel> kernels;
  std::vector<const MeasuredKernel*> rows;

  explicit Products(int64_t count) : kernels(static_cast<size_t>(count)) {
    for (int64_t i = 0; i < count; ++i) {
      MeasuredKernel& k = kernels[static_cast<size_t>(i)];
      k.device = "tesla-v100-sxm2-16gb";
      k.kernel.problem = GemmProblem<int64_t>{.m = i + 1, .n = 1, .k = 1};
      k.seconds = 1e-6 * static_cast<double>(i + 1);
    }
    for (const MeasuredKernel& k : kernels) rows.push_back(&k);
  }
};

Formula formula_of(const Products& products) {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb.has_value());
  const FitPlan& plan = *std::ranges::find(fit_plans(), "gemm-v100", &FitPlan::name);
  return {plan, {rates_of(*hwdb->device("tesla-v100-sxm2-16gb"))}, products.rows};
}

TEST_CASE("a fit that is a tenth too long throughout has that error, no spread, and covers it") {
  const Products products(40);
  const Formula formula = formula_of(products);
  std::vector<LeftOut> left_out;
  for (size_t i = 0; i < formula.size(); ++i) {
    const double measured = formula.kernel(i).seconds;
    left_out.push_back({.index = i, .predicted = 1.1 * measured});
  }
  FitReport report;
  score(report, formula, left_out);
  CHECK(report.fit.error == doctest::Approx(.1));
  CHECK(report.fit.median == doctest::Approx(.1));
  REQUIRE(report.passes.contains("forward"));
  CHECK(report.passes["forward"].error == doctest::Approx(.1));
  CHECK(report.fit.spread == doctest::Approx(0).epsilon(1e-6));
  CHECK(report.fit.correlation == doctest::Approx(1));
  CHECK(report.fit.range90 == doctest::Approx(std::log(1.1)).epsilon(.01));
}

// As many as hold nine of ten of kernels to come (split conformal prediction): an H100's range by
// just nine of ten held 58 % of its kernels that no fit had seen (tests/calibrate/cards_test.cc).
TEST_CASE("more than nine of ten left-out kernels lie in the range, whatever the others do") {
  const Products products(100);
  const Formula formula = formula_of(products);
  std::vector<LeftOut> left_out;
  for (size_t i = 0; i < formula.size(); ++i) {
    const double measured = formula.kernel(i).seconds;
    const double off = i > 0 && i % 10 == 0 ? 3 : 1 + .001 * static_cast<double>(i);
    left_out.push_back({.index = i, .predicted = off * measured});
  }
  FitReport report;
  score(report, formula, left_out);
  CHECK(report.coverage > .9);
  CHECK(report.coverage <= .92);
  CHECK(report.fit.range90 < std::log(1.11));
}

}  // namespace
}  // namespace plimsoll
