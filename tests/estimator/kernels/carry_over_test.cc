#include "estimator/kernels/carry_over.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "hwdb/calibration_terms.h"
#include "tests/support/convolutions.h"

namespace plimsoll {
namespace {

std::vector<double> initial(std::string_view kernel_class) {
  std::vector<double> terms;
  for (const CoefficientRow& row : coefficient_rows(kernel_class)) terms.push_back(row.initial);
  return terms;
}

// Of tiles, and of all others where they are told as shares: as the H100's 16 bits.
constexpr double kHopperRate = 4096;

TEST_CASE("a tile's share of the peak travels as flop of a multiprocessor and clock") {
  std::vector<double> terms = initial("conv");
  terms[kTile0] = .4;
  terms[kTile0 + 3] = .1;
  // 1638 and 410 flop of 512, which is all that a GeForce has; of an A100's 2048.
  const auto geforce = carried_over(terms, "conv", {kHopperRate, 512, 86, true});
  CHECK(geforce[kTile0] == doctest::Approx(1));
  CHECK(geforce[kTile0 + 3] == doctest::Approx(.8));
  CHECK(carried_over(terms, "conv", {kHopperRate, 2048, 80, true})[kTile0] == doctest::Approx(.8));
}

TEST_CASE("products of matrices before Hopper carry operands through registers") {
  std::vector<double> terms = initial("gemm");
  terms[kTile0] = .5;
  CHECK(carried_over(terms, "gemm", {kHopperRate, 2048, 80, true})[kTile0] == doctest::Approx(.6));
  CHECK(carried_over(terms, "gemm", {kHopperRate, 3072, 90, true})[kTile0] ==
        doctest::Approx(2. / 3));
  // Plain cores have always done so: an A100's 64 lanes beside an H100's 128.
  CHECK(carried_over(terms, "gemm", {256, 128, 80, false})[kTile0] == doctest::Approx(1));
}

TEST_CASE("what holds a fast tensor core back is hidden by a slow one") {
  std::vector<double> terms = initial("conv");
  terms[kTile0] = .4;
  terms[kWgrad] = .5;
  terms[kFewChannels] = std::log(2);
  terms[kPrologue] = 100;
  const auto slow = carried_over(terms, "conv", {kHopperRate, 512, 86, true});
  CHECK(slow[kWgrad] == doctest::Approx(1));
  CHECK(slow[kFewChannels] == doctest::Approx(0));
  // The same clocks are fewer steps of a main loop whose steps take longer.
  CHECK(slow[kPrologue] == doctest::Approx(100 * 512 / (.4 * kHopperRate)));
  const auto half = carried_over(terms, "conv", {kHopperRate, 1092.2667, 75, true});
  CHECK(half[kWgrad] == doctest::Approx(.75).epsilon(.001));
}

TEST_CASE("shares stay as they are on a card that is no slower, and so do clocks") {
  const std::vector<double> conv = initial("conv"), depthwise = initial("depthwise");
  CHECK(carried_over(conv, "conv", {kHopperRate, 8192, 100, true}) == conv);
  CHECK(carried_over(conv, "conv", {}) == conv);
  CHECK(carried_over(depthwise, "depthwise", {kHopperRate, 512, 86, true}) == depthwise);
}

KernelAt product(int64_t columns) {
  KernelAt kernel;
  kernel.kernel_class = KernelClass::kGemm;
  kernel.op = "matmul";
  kernel.dtype = DType::kFloat16;
  kernel.tensor_core = true;
  const GemmProblem<int64_t> p{.m = 4096, .n = columns, .k = 768};
  kernel.flop = 2 * p.m * p.n * p.k;
  kernel.read = 2 * (p.m * p.k + p.k * p.n);
  kernel.written = 2 * p.m * p.n;
  kernel.problem = p;
  return kernel;
}

// GPT-2's vocabulary is no multiple of eight; padded to one it is 3 times as fast on an H100.
TEST_CASE("a GeForce hides most of what odd columns cost an H100") {
  const auto times = [](std::string_view card) {
    const TimeContext c = context(card, 919);
    return kernel_time(product(50257), c).seconds / kernel_time(product(50304), c).seconds;
  };
  CHECK(times("h100-sxm-80gb") > 2);
  CHECK(times("rtx-3090") < .6 * times("h100-sxm-80gb"));
}

TEST_CASE("on tensor cores convolutions are products where carried over, and since cuDNN 9") {
  KernelAt kernel = conv(32, {256, 256, 14, 3, 1, 1}, Pass::kForward);
  kernel.dtype = DType::kFloat16;
  kernel.tensor_core = true;
  const auto has_transform = [&](std::string_view card, int cudnn) {
    const auto costs = conv_alternatives(kernel, context(card, cudnn));
    return std::ranges::any_of(costs, [](const ConvCost& cost) {
      return cost.algorithm == ConvAlgorithm::kWinogradNonfused ||
             cost.algorithm == ConvAlgorithm::kFft;
    });
  };
  CHECK_FALSE(has_transform("h100-sxm-80gb", 919));
  CHECK(has_transform("tesla-v100-sxm2-16gb", 809));
  CHECK_FALSE(has_transform("rtx-3090", 919));
  CHECK_FALSE(has_transform("a100-sxm-40gb", 805));
}

TEST_CASE("shapes that networks have take the fit of such shapes, odd ones theirs") {
  const auto basis = [](std::string_view card, int64_t channels) {
    const TimeContext c = context(card, 809);
    const KernelAt kernel = conv(8, {channels, channels, 28, 3, 1, 1}, Pass::kForward);
    return c.basis(kernel_time(kernel, c).basis);
  };
  CHECK(basis("tesla-v100-sxm2-16gb", 128).find("cuDNN 7.6") != std::string::npos);
  CHECK(basis("tesla-v100-sxm2-16gb", 131).find("cuDNN 8.9") != std::string::npos);
  CHECK(basis("tesla-p100-pcie-16gb", 128).find("cuDNN 6.0") != std::string::npos);
  CHECK(basis("rtx-3090", 131).find("h100") != std::string::npos);
}

}  // namespace
}  // namespace plimsoll
