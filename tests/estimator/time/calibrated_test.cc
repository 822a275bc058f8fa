#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "estimator/time/step_time.h"
#include "tests/support/convolutions.h"

namespace plimsoll {
namespace {

TEST_CASE("no convolution is faster than its card's roofline at the highest clock") {
  for (const std::string_view card : kCards) {
    for (const int cudnn : {400, 500, 501, 605, 706, 809}) {
      const TimeContext c = context(card, cudnn);
      const double peak = c.rates().peak_of(Arithmetic::kF32) * c.rates().maximum_clock;
      for (const ConvLayer& layer : kLayers) {
        for (const Pass pass : kPasses) {
          const KernelAt kernel = conv(32, layer, pass);
          const KernelTime t = kernel_time(kernel, c);
          const double bytes = static_cast<double>(kernel.read) + double(kernel.written);
          CHECK(t.seconds >= t.flop / peak * .999999);
          CHECK(t.seconds >= bytes / c.rates().bandwidth * .999999);
          CHECK(t.low <= t.seconds);
          CHECK(t.seconds <= t.high);
        }
      }
    }
  }
}

TEST_CASE("twice the batch never takes less time") {
  for (const std::string_view card : kCards) {
    const TimeContext c = context(card, 605);
    for (const ConvLayer& layer : kLayers) {
      for (const Pass pass : kPasses) {
        double before = 0;
        for (int64_t n = 4; n <= 128; n *= 2) {
          const double seconds = kernel_time(conv(n, layer, pass), c).seconds;
          CAPTURE(card);
          CAPTURE(layer.c);
          CAPTURE(layer.in);
          CAPTURE(n);
          CHECK(seconds >= before);
          before = seconds;
        }
      }
    }
  }
}

TEST_CASE("a card with a higher clock or more bandwidth never takes longer") {
  struct Faster {
    double clock, bandwidth;
  };
  for (const std::string_view card : kCards) {
    const TimeContext own = context(card, 605);
    for (const Faster by :
         {Faster{1.1, 1}, Faster{1.5, 1}, Faster{1, 1.1}, Faster{1, 1.5}, Faster{2, 2}}) {
      DeviceRates rates = own.rates();
      for (double& peak : rates.peak) peak *= by.clock;
      rates.bandwidth *= by.bandwidth;
      const TimeContext faster(rates, Calibrations::shipped(), own.options());
      for (const ConvLayer& layer : kLayers) {
        for (const Pass pass : kPasses) {
          const KernelAt kernel = conv(32, layer, pass);
          CAPTURE(card);
          CAPTURE(by.clock);
          CAPTURE(by.bandwidth);
          CAPTURE(layer.c);
          CHECK(kernel_time(kernel, faster).seconds <= kernel_time(kernel, own).seconds);
        }
      }
    }
  }
}

TEST_CASE("each generation of cuDNN shortens VGG-16 on the TITAN X as measured") {
  // jcjohnson/cnn-benchmarks, batch 16: 339 ms with 4.0, 262 with 5.0, 193 with 5.1.
  constexpr ConvLayer kVgg[] = {
      {3, 64, 224, 3, 1, 1},    {64, 64, 224, 3, 1, 1},  {64, 128, 112, 3, 1, 1},
      {128, 128, 112, 3, 1, 1}, {128, 256, 56, 3, 1, 1}, {256, 256, 56, 3, 1, 1},
      {256, 256, 56, 3, 1, 1},  {256, 512, 28, 3, 1, 1}, {512, 512, 28, 3, 1, 1},
      {512, 512, 28, 3, 1, 1},  {512, 512, 14, 3, 1, 1}, {512, 512, 14, 3, 1, 1},
      {512, 512, 14, 3, 1, 1}};
  const auto seconds = [&](int cudnn) {
    const TimeContext c = context("gtx-titan-x", cudnn);
    double sum = 0;
    for (const ConvLayer& layer : kVgg) {
      for (const Pass pass : kPasses) sum += kernel_time(conv(16, layer, pass), c).seconds;
    }
    return sum;
  };
  const double products = seconds(200), fourier = seconds(400), fused = seconds(500),
               winograd = seconds(501);
  CHECK(products > fourier);
  CHECK(fourier / fused == doctest::Approx(338.7 / 262.3).epsilon(.15));
  CHECK(fourier / winograd == doctest::Approx(338.7 / 192.8).epsilon(.15));
}

TEST_CASE("a card without measurements says whose calibration it takes, with a wider range") {
  const TimeContext own = context("gtx-1080-ti", 605);
  const TimeContext other = context("tesla-t4", 605);
  const KernelAt kernel = conv(32, kLayers[4], Pass::kForward);
  const KernelTime a = kernel_time(kernel, own), b = kernel_time(kernel, other);
  CHECK(own.basis(a.basis).find("applied to") == std::string::npos);
  CHECK(other.basis(b.basis).find("applied to tesla-t4 in f32") != std::string::npos);
  CHECK(evidence_of(kernel, own) == Evidence::kCard);
  CHECK(evidence_of(kernel, other) == Evidence::kOther);
  CHECK(b.high / b.low > a.high / a.low);
}

TEST_CASE("calibrated is a very card with its library's generation; else it says from where") {
  const KernelAt kernel = conv(32, kLayers[4], Pass::kForward);
  const auto basis = [&](const char* card, int cudnn) {
    const TimeContext c = context(card, cudnn);
    return c.basis(kernel_time(kernel, c).basis);
  };
  CHECK(basis("titan-xp", 600).starts_with("convolutions in f32: model fitted to"));
  CHECK(basis("titan-xp", 910).ends_with("applied to titan-xp in f32 with cuDNN 9.10"));
  const std::string sibling = basis("quadro-p4000", 600);
  CHECK(sibling.find("measured on titan-xp") != std::string::npos);
  CHECK(sibling.ends_with("applied to quadro-p4000 in f32 with cuDNN 6.0"));
  CHECK(evidence_of(kernel, context("quadro-p4000", 600)) == Evidence::kArchitecture);
  CHECK(evidence_of(kernel, context("titan-xp", 910)) == Evidence::kArchitecture);
}

TEST_CASE("16-bit work goes where the card multiplies 16 bits") {
  const auto peak_share = [](std::string_view card) {
    const TimeContext c = context(card, 706);
    KernelAt kernel = conv(32, kLayers[4], Pass::kForward);
    const double single = kernel_time(kernel, c).seconds;
    kernel.dtype = DType::kFloat16;
    kernel.tensor_core = true;  // as frameworks ask for: the card may have none
    kernel.read /= 2;
    kernel.written /= 2;
    return kernel_time(kernel, c).seconds / single;
  };
  CHECK(peak_share("tesla-v100-sxm2-16gb") < .7);  // tensor cores
  CHECK(peak_share("gtx-1080-ti") > .7);           // 32-bit arithmetic on 16-bit storage
  CHECK(peak_share("gtx-1080-ti") < 1.1);
}

TEST_CASE("overlapping windows of a forward pool are read again, others are not") {
  const TimeContext c = context("gtx-titan-x", 400);
  // 64 images of 64 channels, 112x112, as in convnet-benchmarks.
  const auto seconds = [&](int64_t window, int64_t out) {
    constexpr int64_t kIn = 64 * 64 * 112 * 112;
    const int64_t y = 64 * 64 * out * out;
    KernelAt kernel{
        .kernel_class = KernelClass::kPool, .op = "max_pool", .flop = y * window * window};
    kernel.read = 4 * kIn;
    kernel.written = 4 * y;
    kernel.problem = RowsProblem<int64_t>{.rows = 64 * 64, .columns = 112 * 112};
    return kernel_time(kernel, c).seconds;
  };
  const double apart = seconds(2, 56), overlapping = seconds(3, 56), everywhere = seconds(3, 112);
  CHECK(overlapping / apart == doctest::Approx(1.5).epsilon(.06));
  CHECK(everywhere / apart == doctest::Approx(3.15 * 2 / 1.25).epsilon(.06));
}

TEST_CASE("softmax and layer norm are less certain than element-wise work") {
  const TimeContext c = context("tesla-v100-pcie-32gb", 809);
  const auto range = [&](KernelClass kernel_class, const char* op) {
    KernelAt kernel{.kernel_class = kernel_class, .op = op};
    kernel.read = kernel.written = 1 << 26;
    kernel.problem = RowsProblem<int64_t>{.rows = 1 << 15, .columns = 512};
    const KernelTime t = kernel_time(kernel, c);
    return t.high / t.seconds;
  };
  const double plain = range(KernelClass::kPointwise, "relu");
  CHECK(range(KernelClass::kNorm, "layer_norm") > plain);
  CHECK(range(KernelClass::kSoftmax, "softmax") > range(KernelClass::kNorm, "layer_norm"));
}

KernelAt linear(int64_t rows, int64_t in, int64_t out) {
  return {.kernel_class = KernelClass::kGemm,
          .op = "linear",
          .flop = 2 * rows * in * out,
          .read = 4 * (rows * in + in * out),
          .written = 4 * rows * out,
          .problem = GemmProblem<int64_t>{.m = rows, .n = out, .k = in, .b_t = true}};
}

// nicklhy/DLInfBench, MXNet on a TITAN X (Pascal) at batch 1, 2 and 4: AlexNet 1.8, 2.0 and 2.6 ms,
// VGG-16 4.9, 9.4 and 14.4 ms.
TEST_CASE("AlexNet's linear layers are read once for eight images, VGG's first is not") {
  const TimeContext c = context("titan-x-pascal", 501);
  const auto seconds = [&](int64_t rows, int64_t in) {
    return kernel_time(linear(rows, in, 4096), c).seconds;
  };
  CHECK(seconds(8, 9216) < 1.02 * seconds(1, 9216));
  CHECK(seconds(16, 9216) > 1.5 * seconds(1, 9216));
  CHECK(seconds(2, 25088) > 1.5 * seconds(1, 25088));
  const TimeContext kepler = context("tesla-k80", 501);
  CHECK(kernel_time(linear(8, 9216, 4096), kepler).seconds >
        1.5 * kernel_time(linear(1, 9216, 4096), kepler).seconds);
}

// src/caffe/layers/batch_norm_layer.cu and scale_layer.cu, Forward_gpu, layers in place.
TEST_CASE("Caffe's norms take more calls and longer with the statistics of the batch") {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb.has_value());
  TimeOptions options;
  options.separate_batch_norm = true;
  const TimeContext c(rates_of(*hwdb->device("gtx-1080-ti")), Calibrations::shipped(), options);
  const int64_t bytes = int64_t{4} << 20;
  KernelAt kernel{.kernel_class = KernelClass::kNorm, .op = "affine", .read = bytes};
  kernel.written = bytes;
  kernel.problem = RowsProblem<int64_t>{1, bytes / 4};
  const KernelTime fixed = kernel_time(kernel, c);
  kernel.op = "batch_norm";
  const KernelTime of_batch = kernel_time(kernel, c);
  CHECK(fixed.launches == 14);
  CHECK(of_batch.launches == 19);
  CHECK(of_batch.seconds > 1.5 * fixed.seconds);
}

// VGG-16 with and without norms, GTX 1080 Ti, batch 12, fp32: 114.2 and 101.9 ms forward and
// backward (ryujaehun/pytorch-gpu-benchmark).
TEST_CASE("persistent norms cost VGG-16 what they were measured to, others more") {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb.has_value());
  constexpr int64_t kImages = 12;
  // Channels, side, how many of them.
  constexpr int64_t kNorms[][3] = {
      {64, 224, 2}, {128, 112, 2}, {256, 56, 3}, {512, 28, 3}, {512, 14, 3}};
  const auto milliseconds = [&](std::string_view card, bool persistent) {
    TimeOptions options;
    options.persistent_norm = persistent;
    const TimeContext c(rates_of(*hwdb->device(card)), Calibrations::shipped(), options);
    double seconds = 0;
    for (const auto& [channels, side, count] : kNorms) {
      const int64_t tensor = 4 * kImages * channels * side * side;
      KernelAt kernel{.kernel_class = KernelClass::kNorm, .op = "batch_norm", .read = tensor};
      kernel.written = tensor;
      kernel.problem = RowsProblem<int64_t>{1, tensor / 4};
      seconds += static_cast<double>(count) * kernel_time(kernel, c).seconds;
      kernel.pass = Pass::kBackwardData;
      kernel.read = 2 * tensor;
      seconds += static_cast<double>(count) * kernel_time(kernel, c).seconds;
    }
    return 1e3 * seconds;
  };
  CHECK(milliseconds("gtx-1080-ti", true) == doctest::Approx(114.2 - 101.9).epsilon(.05));
  CHECK(milliseconds("gtx-1080-ti", false) > 1.4 * milliseconds("gtx-1080-ti", true));
  // Maxwell has no such kernel.
  CHECK(milliseconds("gtx-titan-x", true) == milliseconds("gtx-titan-x", false));
}

}  // namespace
// thonking.ai, "Strangely, Matrix Multiplications on GPUs Run Faster When Given Predictable Data":
// an A100 multiplies random matrices of 8192 x 8192 in 16 bits at 257 TFLOP/s.
TEST_CASE("a step's products run at the clock that tensor cores keep") {
  const TimeContext a100 = context("a100-sxm-80gb", 900);
  constexpr int64_t kSide = 8192;
  const KernelAt product{.kernel_class = KernelClass::kGemm,
                         .dtype = DType::kBFloat16,
                         .tensor_core = true,
                         .op = "gemm",
                         .flop = 2 * kSide * kSide * kSide,
                         .read = 4 * kSide * kSide,
                         .written = 2 * kSide * kSide,
                         .problem = GemmProblem<int64_t>{.m = kSide, .n = kSide, .k = kSide}};
  const KernelTime alone = kernel_time(product, a100);
  CHECK(alone.on_tensor_cores);
  CHECK(alone.seconds / at_sustained_clock(alone, a100.rates()) ==
        doctest::Approx(a100.rates().tensor_clock).epsilon(.001));
  CHECK(2. * kSide * kSide * kSide / in_step(alone, {}, a100.rates()) ==
        doctest::Approx(257e12).epsilon(.05));
  // Convolutions keep the boost clock.
  CHECK_FALSE(kernel_time(conv(32, kLayers[2], Pass::kForward), a100).on_tensor_cores);
}

}  // namespace plimsoll
