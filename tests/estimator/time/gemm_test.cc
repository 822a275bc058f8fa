#include "estimator/time/gemm.h"

#include <doctest/doctest.h>

#include "tests/support/convolutions.h"

namespace plimsoll {
namespace {

double tera(int64_t m, int64_t n, int64_t k, DType type, bool tensor_core) {
  KernelAt kernel{.kernel_class = KernelClass::kGemm, .op = "gemm"};
  kernel.dtype = type;
  kernel.tensor_core = tensor_core;
  kernel.flop = 2 * m * n * k;
  kernel.read = bits(type) / 8 * (m * k + k * n);
  kernel.written = bits(type) / 8 * m * n;
  kernel.problem = GemmProblem<int64_t>{.m = m, .n = n, .k = k};
  return static_cast<double>(kernel.flop) /
         kernel_time(kernel, context("h100-sxm-80gb", 919)).seconds * 1e-12;
}

// GPT-2's vocabulary of 50257 is the known case. On H100 large products of 16 bits ran at 610
// Tflop/s where rows begin at 16 bytes, at 200 to 250 at 4 and 8, at 70 to 110 at 2 (medians).
TEST_CASE("tensor cores are slow where rows do not begin at 16 bytes") {
  const double even = tera(4096, 50304, 768, DType::kFloat16, true);
  const double pairs = tera(4096, 50258, 768, DType::kFloat16, true);
  const double odd = tera(4096, 50257, 768, DType::kFloat16, true);
  CHECK(even > 2 * pairs);
  CHECK(pairs > 1.5 * odd);
  // 32 bits: four elements are 16 bytes.
  const double tf32 = tera(4096, 50304, 768, DType::kFloat32, true);
  CHECK(tf32 == doctest::Approx(tera(4096, 50300, 768, DType::kFloat32, true)).epsilon(.1));
  CHECK(tf32 > 2 * tera(4096, 50257, 768, DType::kFloat32, true));
  // Ordinary cores read words.
  CHECK(tera(4096, 50257, 768, DType::kFloat32, false) ==
        doctest::Approx(tera(4096, 50304, 768, DType::kFloat32, false)).epsilon(.05));
}

TEST_CASE("both kinds of 16 bits take the same time") {
  CHECK(tera(4096, 4096, 4096, DType::kBFloat16, true) ==
        tera(4096, 4096, 4096, DType::kFloat16, true));
}

}  // namespace
}  // namespace plimsoll
