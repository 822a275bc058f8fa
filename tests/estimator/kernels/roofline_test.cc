#include "estimator/kernels/roofline.h"

#include <doctest/doctest.h>

using namespace plimsoll;

TEST_CASE("roofline: the slower of printed peak and printed bandwidth") {
  DeviceRates rates{.id = "x", .compute_capability = 80, .sms = 1};
  rates.peak[static_cast<size_t>(Arithmetic::kF32)] = 1e12;
  rates.peak[static_cast<size_t>(Arithmetic::kF16Tensor)] = 8e12;
  rates.bandwidth = 1e11;
  KernelAt kernel;
  kernel.flop = 2'000'000'000;
  kernel.read = 30'000'000;
  kernel.written = 10'000'000;
  CHECK(roofline_seconds(kernel, rates) == doctest::Approx(2e-3));
  kernel.dtype = DType::kFloat16;
  kernel.tensor_core = true;
  CHECK(roofline_seconds(kernel, rates) == doctest::Approx(4e-4));  // bandwidth
  CHECK(roofline_seconds({}, rates) == 0);
}
