#include "estimator/library/convolution.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "estimator/library/workspace/legacy.h"
#include "hwdb/calibration_terms.h"
#include "tests/support/convolutions.h"

namespace plimsoll {
namespace {

TEST_CASE("before cuDNN 7 a convolution is called for each of its groups") {
  KernelAt grouped = conv(16, {256, 256, 28, 3, 1, 1}, Pass::kForward);
  std::get<ConvProblem<int64_t>>(grouped.problem).groups = 32;
  grouped.flop /= 32;
  const KernelTime before = kernel_time(grouped, context("titan-x-pascal", 600));
  const KernelTime since = kernel_time(grouped, context("titan-x-pascal", 700));
  CHECK(before.launches == 32);
  CHECK(since.launches == 1);
  CHECK(before.seconds > 1.5 * since.seconds);
  // Depthwise layers have kernels of their own.
  KernelAt depthwise = conv(16, {256, 256, 28, 3, 1, 1}, Pass::kForward);
  std::get<ConvProblem<int64_t>>(depthwise.problem).groups = 256;
  depthwise.flop /= 256;
  CHECK(kernel_time(depthwise, context("titan-x-pascal", 600)).launches == 1);
}

// AlexNet's conv2 to conv5 as Kim et al. (ISPASS 2017) ran them: TITAN X, batch 256, cuDNN 5.0.
constexpr ConvLayer kAlexNet[] = {{96, 256, 27, 5, 1, 2},
                                  {256, 384, 13, 3, 1, 1},
                                  {384, 384, 13, 3, 1, 1},
                                  {384, 256, 13, 3, 1, 1}};

TEST_CASE("AlexNet's conv2 to conv5 at batch 256 take Fourier transforms, as Kim et al. saw") {
  const TimeContext c = context("gtx-titan-x", 500);
  for (const ConvLayer& layer : kAlexNet) {
    for (const Pass pass : kPasses) {
      CHECK(kernel_time(conv(256, layer, pass), c).algorithm == "FFT");
    }
  }
}

TEST_CASE("Winograd is ahead of Fourier transforms for 3x3 filters and small batches") {
  const TimeContext c = context("gtx-titan-x", 501);
  for (const int64_t n : {1, 2, 4, 8, 16}) {
    const auto rows = conv_alternatives(conv(n, {384, 384, 13, 3, 1, 1}, Pass::kForward), c);
    const auto of = [&](ConvAlgorithm a) {
      for (const ConvCost& row : rows) {
        if (row.algorithm == a) return row.seconds;
      }
      return std::numeric_limits<double>::infinity();
    };
    const double winograd =
        std::min(of(ConvAlgorithm::kWinograd), of(ConvAlgorithm::kWinogradNonfused));
    CHECK(winograd < std::min(of(ConvAlgorithm::kFft), of(ConvAlgorithm::kFftTiling)));
  }
}

TEST_CASE("in 64 bits convolutions are products, whose gradients outrun the forward pass") {
  // TITAN Xp: 0.38 TFLOP/s. VGG-16's thirteen layers at batch 12 take 1,741 ms forward and 1,917
  // ms backward (ryujaehun/pytorch-gpu-benchmark): half of the printed rate, then all of it.
  const TimeContext c = context("titan-xp", 706);
  const auto on = [&](Pass pass) {
    KernelAt kernel = conv(12, {256, 256, 56, 3, 1, 1}, pass);
    kernel.dtype = DType::kFloat64;
    kernel.read *= 2;
    kernel.written *= 2;
    CHECK(conv_alternatives(kernel, c).front().flop >= static_cast<double>(kernel.flop));
    const KernelTime t = kernel_time(kernel, c);
    CHECK_FALSE(t.algorithm.starts_with("WINOGRAD"));
    return static_cast<double>(kernel.flop) / t.seconds / .38e12;
  };
  CHECK(on(Pass::kForward) > .45);
  CHECK(on(Pass::kForward) < .7);
  CHECK(on(Pass::kBackwardData) > .75);
  CHECK(on(Pass::kBackwardWeights) < 1.05);
}

TEST_CASE("tensor cores want channels last, ordinary ones channels first") {
  const auto seconds = [](Layout layout, DType dtype, const ConvLayer& layer, int cudnn) {
    KernelAt kernel = conv(32, layer, Pass::kForward);
    kernel.dtype = dtype;
    if (dtype == DType::kFloat16) {
      kernel.read /= 2;
      kernel.written /= 2;
    }
    return kernel_time(kernel, context("tesla-v100-sxm2-16gb", cudnn, layout)).seconds;
  };
  const ConvLayer& layer = kLayers[2];
  // 64 channels of 56x56 in and out, two bytes, read and written once more: 51 MB at 900 GB/s and
  // less.
  const double turn = seconds(Layout::kChannelsFirst, DType::kFloat16, layer, 706) -
                      seconds(Layout::kChannelsLast, DType::kFloat16, layer, 706);
  CHECK(turn > 2 * 2 * 32 * 64 * 56 * 56 * 2 / 900e9);
  CHECK(turn < 2 * 2 * 2 * 32 * 64 * 56 * 56 * 2 / 900e9);
  CHECK(seconds(Layout::kChannelsLast, DType::kFloat32, layer, 706) >
        seconds(Layout::kChannelsFirst, DType::kFloat32, layer, 706));
  // A filter of one tap is a plain product whichever way.
  CHECK(seconds(Layout::kChannelsLast, DType::kFloat32, kLayers[1], 706) ==
        seconds(Layout::kChannelsFirst, DType::kFloat32, kLayers[1], 706));
}

// MNASNet's first pointwise layer and ResNet-50's last 3x3 on an RTX 3090.
TEST_CASE("where all are timed ordinary cores multiply 16 bits that are longer turned") {
  const auto time = [](const ConvLayer& layer, AlgorithmPolicy policy) {
    const TimeContext timed = context("rtx-3090", 803, Layout::kChannelsFirst);
    TimeOptions options = timed.options();
    options.policy = policy;
    KernelAt kernel = conv(256, layer, Pass::kForward);
    kernel.dtype = DType::kFloat16;
    kernel.tensor_core = true;
    kernel.read /= 2;
    kernel.written /= 2;
    return kernel_time(kernel, timed.with(options, nullptr));
  };
  const ConvLayer narrow{32, 16, 112, 1, 1, 0}, wide{512, 512, 7, 3, 1, 1};
  const KernelTime guessed = time(narrow, AlgorithmPolicy::kHeuristic);
  const KernelTime timed = time(narrow, AlgorithmPolicy::kAutotune);
  CHECK(guessed.converted > 0);
  CHECK(timed.converted == 0);
  CHECK(timed.seconds < guessed.seconds);
  CHECK(time(wide, AlgorithmPolicy::kAutotune).converted > 0);
  CHECK(time(wide, AlgorithmPolicy::kAutotune).seconds ==
        time(wide, AlgorithmPolicy::kHeuristic).seconds);
}

TEST_CASE("before cuDNN 7.3 ordinary cores took channels that are no eights, and all weights") {
  const auto basis = [](const ConvLayer& layer, int cudnn, Pass pass = Pass::kForward) {
    const TimeContext c = context("tesla-v100-sxm2-16gb", cudnn, Layout::kChannelsFirst);
    KernelAt kernel = conv(32, layer, pass);
    kernel.dtype = DType::kFloat16;
    return c.basis(kernel_time(kernel, c).basis);
  };
  CHECK(basis(kLayers[0], 700).find("convolutions in f32") != std::string::npos);
  CHECK(basis(kLayers[0], 706).find("convolutions in f16 on tensor cores") != std::string::npos);
  CHECK(basis(kLayers[2], 700).find("convolutions in f16 on tensor cores") != std::string::npos);
  CHECK(basis(kLayers[2], 700, Pass::kBackwardData).find("f16 on tensor cores") !=
        std::string::npos);
  CHECK(basis(kLayers[2], 700, Pass::kBackwardWeights).find("convolutions in f32") !=
        std::string::npos);
  CHECK(basis(kLayers[2], 703, Pass::kBackwardWeights).find("f16 on tensor cores") !=
        std::string::npos);
}

TEST_CASE("without 16-bit units Winograd's products of 16-bit images are kept in 32 bits") {
  const auto workspace = [](std::string_view card, DType dtype) {
    KernelAt kernel = conv(32, {256, 256, 14, 3, 1, 1}, Pass::kForward);
    kernel.dtype = dtype;
    for (const ConvCost& cost : conv_alternatives(kernel, context(card, 605))) {
      if (cost.algorithm == ConvAlgorithm::kWinogradNonfused) return cost.workspace;
    }
    return 0.0;
  };
  CHECK(workspace("gtx-1080-ti", DType::kFloat32) > 0);
  CHECK(workspace("gtx-1080-ti", DType::kFloat16) == workspace("gtx-1080-ti", DType::kFloat32));
}

TEST_CASE("whole-plane transforms take the scratch memory that the memory model gives them") {
  const KernelAt kernel = conv(64, {64, 192, 27, 5, 1, 2}, Pass::kForward);
  const auto& problem = std::get<ConvProblem<int64_t>>(kernel.problem);
  double known = 0, priced = 0;
  for (const LegacyAlgorithm& a :
       legacy_algorithms(*conv_shape(problem), Pass::kForward, DType::kFloat32)) {
    if (std::string_view(a.name) == "fft") known = static_cast<double>(a.bytes);
  }
  for (const ConvCost& cost : conv_alternatives(kernel, context("gtx-titan-x", 500))) {
    if (cost.algorithm == ConvAlgorithm::kFft) priced = cost.workspace;
  }
  CHECK(known > 0);
  CHECK(priced == known);
}

// rejunity/cnn-benchmarks, V100 at batch 1: ResNet-50 takes 12.4 ms with columns and products,
// whose calls would take as long again if each cost what other operators' do.
TEST_CASE("convolution algorithms that take too long are left out, the others are the same") {
  std::vector<double> terms;
  for (const CoefficientRow& row : kGemmTerms) terms.push_back(row.initial);
  for (const CoefficientRow& row : kConvTerms) terms.push_back(row.initial);
  const GemmRates rates{.flops = 1e13, .sms = 28, .bandwidth = 4e11};
  std::mt19937 random(5);
  const auto between = [&](int low, int high) {
    return static_cast<double>(low + static_cast<int>(random() % (high - low + 1)));
  };
  constexpr double kLimit = 1.2;
  int kept = 0, left_out = 0;
  for (int i = 0; i < 300; ++i) {
    const ConvModel model(terms, rates, i % 2 ? 605 : 900);
    const double side = between(7, 60), filter = 1 + 2 * between(0, 2);
    ConvShape shape;
    shape.n = between(1, 200);
    shape.c = between(1, 300);
    shape.k = between(1, 300);
    shape.in = shape.out = {1, side, side};
    shape.filter = {1, filter, filter};
    shape.pad = {0, (filter - 1) / 2, (filter - 1) / 2};
    shape.pass = static_cast<Pass>(i % 3);
    const ConvCosts all = model.costs(shape), some = model.costs(shape, kLimit);
    REQUIRE(all.count == some.count);
    for (int a = 0; a < all.count; ++a) {
      const ConvCost &whole = all.rows[a], &limited = some.rows[a];
      CHECK(whole.algorithm == limited.algorithm);
      if (whole.seconds > kLimit * all.rows[0].seconds) {
        CHECK(limited.seconds == kNoLimit);
        ++left_out;
      } else {
        CHECK(limited.seconds == whole.seconds);
        CHECK(limited.flop == whole.flop);
        CHECK(limited.bytes == whole.bytes);
        CHECK(limited.workspace == whole.workspace);
        CHECK(limited.memory_bound == whole.memory_bound);
        ++kept;
      }
    }
  }
  CHECK(kept > 350);
  CHECK(left_out > 200);
}

TEST_CASE("what the loop over images launches is in its time") {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb.has_value());
  TimeOptions options;
  options.policy = AlgorithmPolicy::kIm2col;
  const TimeContext c(rates_of(*hwdb->device("tesla-v100-sxm2-16gb")), Calibrations::shipped(),
                      options);
  const KernelTime one = kernel_time(conv(1, kLayers[2], Pass::kForward), c);
  const KernelTime four = kernel_time(conv(4, kLayers[2], Pass::kForward), c);
  CHECK(one.launches == 0);
  CHECK(four.seconds == doctest::Approx(4 * one.seconds).epsilon(.01));
}

}  // namespace
}  // namespace plimsoll
