#include "estimator/time/gemm.h"

#include <doctest/doctest.h>

#include <vector>

#include "hwdb/calibration_terms.h"
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

// One tile, k of millions: a card of 132 multiprocessors is filled by as many slices. cuDNN's
// answers for a described H100 name up to 788.
TEST_CASE("a library that makes more than 32 slices fills a card with one tile") {
  std::vector<double> terms;
  for (const CoefficientRow& row : kGemmTerms) terms.push_back(row.initial);
  const GemmRates rates{.flops = 60e12, .sms = 132, .bandwidth = 3e12, .clock = 1.7e9};
  const auto cost = [&](double split, bool may_split = true) {
    terms[kSplit] = split;
    return GemmModel(terms, rates).cost({.m = 32, .n = 32, .k = 1 << 20, .may_split = may_split});
  };
  CHECK(cost(0).split == 1);
  CHECK(cost(1).split == 32);
  CHECK(cost(2).split == 256);
  CHECK(cost(1).seconds > 3 * cost(2).seconds);
  CHECK(cost(2, false).split == 1);
}

}  // namespace
}  // namespace plimsoll
