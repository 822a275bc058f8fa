#include "estimator/library/kernel_time.h"

#include <doctest/doctest.h>

namespace plimsoll {
namespace {

// One operation and one byte a second.
DeviceRates unit_device() {
  DeviceRates rates{.id = "unit", .compute_capability = 52, .sms = 1, .bandwidth = 1};
  rates.peak.fill(1);
  return rates;
}

KernelAt gemm(int64_t m, int64_t n, int64_t k) {
  return {.kernel_class = KernelClass::kGemm,
          .op = "MatMul",
          .flop = 2 * m * n * k,
          .read = 4 * (m * k + k * n),
          .written = 4 * m * n,
          .problem = GemmProblem<int64_t>{.m = m, .n = n, .k = k}};
}

TEST_CASE("without a calibration a kernel takes the roofline's time, by eye") {
  const TimeContext context(unit_device(), {});
  const KernelTime time = kernel_time(gemm(10, 10, 100), context);
  CHECK(time.seconds == 20000);  // 2 * 10 * 10 * 100 operations
  CHECK(time.bound_by == BoundBy::kCompute);
  CHECK(time.fraction_of_peak == 1);
  CHECK(context.basis(time.basis) ==
        "roofline of the datasheet: no kernels of this class were measured");
  const KernelTime thin = kernel_time(gemm(1, 1, 100), context);
  CHECK(thin.seconds == 804);  // 4 * (100 + 100 + 1) bytes against 200 operations
  CHECK(thin.bound_by == BoundBy::kDram);
}

}  // namespace
}  // namespace plimsoll
