#include "estimator/kernels/depthwise.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/convolutions.h"
#include "tests/support/recurrent.h"

namespace plimsoll {
namespace {

const Fit& fit() {
  const Calibration* hopper = Calibrations::shipped().of(90);
  REQUIRE(hopper != nullptr);
  const auto found = std::ranges::find(hopper->fits, "depthwise", &Fit::kernel_class);
  REQUIRE(found != hopper->fits.end());
  return *found;
}

KernelAt depthwise(int64_t images, int64_t channels, int64_t side, int64_t filter, int64_t stride,
                   Pass pass, DType type = DType::kFloat32, bool last = false) {
  KernelAt kernel = conv(images, {channels, channels, side, filter, stride, filter / 2}, pass);
  auto& problem = std::get<ConvProblem<int64_t>>(kernel.problem);
  problem.groups = channels;
  problem.channels_last = last;
  kernel.flop /= channels;
  kernel.dtype = type;
  return kernel;
}

double depthwise_microseconds(const KernelAt& kernel, std::string_view card = "h100-sxm-80gb") {
  TimeOptions options;
  options.library.cudnn = 919;
  options.alone = true;
  return 1e6 * kernel_time(kernel, TimeContext(card_rates(card), Calibrations::shipped(), options))
                   .seconds;
}

DepthwiseKernel chosen(const KernelAt& kernel, bool last = false) {
  const auto& problem = std::get<ConvProblem<int64_t>>(kernel.problem);
  return depthwise_kernel(conv_shape(problem, kernel.pass, 4, 4), kernel.dtype, last);
}

TEST_CASE("depthwise kernels left out of their fit are predicted within 11 %") {
  CHECK(fit().measured == 285);
  CHECK(fit().error <= .1);
  for (const PassError& pass : fit().passes) CHECK(pass.error <= .11);
}

// One H100, PyTorch 2.11 and cuDNN 9.19 (measured/conv.csv).
TEST_CASE("depthwise convolutions are bound by the instructions that find an element") {
  using enum Pass;
  using enum DType;
  const auto own = [](Pass pass, int64_t filter) {
    return depthwise_microseconds(depthwise(32, 96, 56, filter, 1, pass));
  };
  CHECK(own(kForward, 7) == doctest::Approx(319.2).epsilon(.1));
  CHECK(own(kBackwardData, 7) == doctest::Approx(415.7).epsilon(.1));
  CHECK(own(kBackwardWeights, 7) == doctest::Approx(651.1).epsilon(.1));
  // A gradient of 5x5 costs no more than one of 3x3; a general one does.
  CHECK(own(kBackwardData, 5) == doctest::Approx(own(kBackwardData, 3)));
  CHECK(own(kBackwardData, 7) > 2 * own(kBackwardData, 5));
  // cuDNN's, channels first and last.
  CHECK(depthwise_microseconds(depthwise(32, 576, 14, 3, 1, kForward, kFloat16)) ==
        doctest::Approx(17.).epsilon(.15));
  CHECK(depthwise_microseconds(depthwise(32, 96, 56, 7, 1, kForward, kFloat16, true)) ==
        doctest::Approx(70.9).epsilon(.15));
  CHECK(depthwise_microseconds(depthwise(32, 96, 56, 7, 1, kBackwardData, kFloat16, true)) ==
        doctest::Approx(171.5).epsilon(.15));
  CHECK(depthwise_microseconds(depthwise(32, 96, 56, 7, 1, kBackwardWeights, kFloat16, true)) ==
        doctest::Approx(75.2).epsilon(.15));
}

// A warp takes 32 outputs at a time, and has its start to make for each image.
TEST_CASE("a weight's gradient costs more for an output of small maps") {
  const auto each = [](int64_t side) {
    return depthwise_microseconds(depthwise(32, 768, side, 7, 1, Pass::kBackwardWeights)) /
           static_cast<double>(side * side);
  };
  CHECK(each(7) == doctest::Approx(265.2 / 49).epsilon(.1));
  CHECK(each(14) < .6 * each(7));
  CHECK(each(28) < each(14));
}

TEST_CASE("whose depthwise kernel runs is PyTorch's rule") {
  using enum DType;
  using enum DepthwiseKernel;
  const auto of = [](int64_t channels, int64_t side, int64_t filter, int64_t stride, DType type) {
    return chosen(depthwise(32, channels, side, filter, stride, Pass::kForward, type));
  };
  CHECK(of(144, 56, 3, 1, kFloat32) == kOwn);
  CHECK(of(144, 56, 3, 1, kBFloat16) == kOwn);
  CHECK(of(144, 56, 3, 1, kFloat16) == kFirst);
  CHECK(of(144, 56, 7, 1, kFloat16) == kOwn);
  CHECK(of(16, 56, 3, 1, kFloat16) == kOwn);
  CHECK(of(144, 56, 3, 2, kFloat16) == kOwn);
  CHECK(of(256, 28, 3, 2, kFloat16) == kFirst);
  CHECK(of(256, 14, 3, 2, kFloat16) == kOwn);
  CHECK(of(576, 14, 5, 2, kFloat16) == kFirst);
  CHECK(chosen(depthwise(1, 144, 56, 3, 2, Pass::kForward, kFloat16)) == kFirst);
  CHECK(chosen(depthwise(32, 144, 56, 7, 1, Pass::kForward), true) == kLast);
}

// In 32 bits channels last cuDNN's weight gradients take ten times as long: ConvNeXt-tiny's 18, at
// batch 32, 16.5 ms on the H100 and 16.8 ms on an H200, which is in no fit.
TEST_CASE("ConvNeXt's depthwise weight gradients in 32 bits") {
  for (const std::string_view card : {"h100-sxm-80gb", "h200"}) {
    CAPTURE(card);
    double sum = 0;
    const int64_t layers[][3] = {{3, 96, 56}, {3, 192, 28}, {9, 384, 14}, {3, 768, 7}};
    for (const auto& [count, channels, side] : layers) {
      sum += static_cast<double>(count) *
             depthwise_microseconds(
                 depthwise(32, channels, side, 7, 1, Pass::kBackwardWeights, DType::kFloat32, true),
                 card);
    }
    CHECK(sum == doctest::Approx(16.65e3).epsilon(.1));
  }
}

TEST_CASE("depthwise kernels keep their clocks from Volta on, channels last with cuDNN 8 thrice") {
  const KernelAt kernel = depthwise(32, 144, 56, 3, 1, Pass::kForward);
  const auto basis = [&](std::string_view card, int cudnn) {
    const TimeContext c = context(card, cudnn);
    return c.basis(kernel_time(kernel, c).basis);
  };
  CHECK(basis("h100-sxm-80gb", 919).find("depthwise convolutions: ") != std::string::npos);
  CHECK(basis("rtx-3090", 805).find("measured on h100-sxm-80gb") != std::string::npos);
  CHECK(basis("titan-xp", 600).find("convolutions in f32") != std::string::npos);
  // Taps enough that memory does not bind either.
  const KernelAt last = depthwise(256, 144, 56, 5, 1, Pass::kForward, DType::kFloat16, true);
  const auto seconds = [&](int cudnn) {
    return kernel_time(last, context("a100-sxm-80gb", cudnn)).seconds;
  };
  const double longer = seconds(805) / seconds(919);  // memory binds the newer one
  CHECK(longer > 1.9);
  CHECK(longer <= 3);
}

}  // namespace
}  // namespace plimsoll
