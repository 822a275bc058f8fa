#include "hwdb/coefficients.h"

#include <doctest/doctest.h>

#include "hwdb/calibration.h"

namespace plimsoll {
namespace {

TEST_CASE("terms that have no effect stand in no file and count for nothing") {
  const auto all = shipped_calibrations();
  REQUIRE(all.has_value());
  for (const Calibration& c : *all) {
    CHECK(*parse_calibration(write_calibration(c), "again.json") == c);
    for (const Fit& fit : c.fits) {
      CAPTURE(c.id);
      CAPTURE(fit.kernel_class);
      CHECK(coefficients(fit) > 4);
      CHECK(coefficients(fit) <= static_cast<int64_t>(fit.terms.size() + fit.clocks.size()));
    }
  }
}

TEST_CASE("one term more or less in use is one coefficient more or less") {
  Fit fit = shipped_calibrations()->front().fits.front();
  const int64_t before = coefficients(fit);
  REQUIRE(fit.kernel_class == "gemm");
  fit.terms[kTransposeA] = fit.terms[kTransposeA] == 0 ? .1 : 0;
  CHECK(coefficients(fit) == before + (fit.terms[kTransposeA] == 0 ? -1 : 1));
  fit.terms[kSplit] = 1 - fit.terms[kSplit];  // a fact, not a coefficient
  CHECK(coefficients(fit) == before + (fit.terms[kTransposeA] == 0 ? -1 : 1));
  fit.clocks.emplace_back("another", 1);
  CHECK(coefficients(fit) == before + 1 + (fit.terms[kTransposeA] == 0 ? -1 : 1));
}

}  // namespace
}  // namespace plimsoll
