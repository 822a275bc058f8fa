#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "estimator/time/kernel_time.h"
#include "hwdb/calibration.h"
#include "hwdb/hwdb.h"

namespace plimsoll {
namespace {

// One for all cases: what one has read the next need not.
const Calibrations& calibrations() {
  static const Calibrations all = Calibrations::shipped();
  return all;
}

TimeContext context(std::string_view device, int cudnn, Layout layout = Layout::kNative) {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb.has_value());
  const auto card = hwdb->device(device);
  REQUIRE(card.has_value());
  TimeOptions options;
  options.library.cudnn = cudnn;
  options.layout = layout;
  return TimeContext(rates_of(*card), calibrations(), options);
}

struct Layer {
  int64_t c, k, in, filter, stride, pad;
};

KernelAt conv(int64_t n, const Layer& l, Pass pass) {
  ConvProblem<int64_t> p{.n = n, .c = l.c, .k = l.k, .in = {1, l.in, l.in}};
  p.filter = {1, l.filter, l.filter};
  p.pad = {0, l.pad, l.pad};
  p.stride = {1, l.stride, l.stride};
  const int64_t out = (l.in + 2 * l.pad - l.filter) / l.stride + 1;
  p.out = {1, out, out};
  KernelAt kernel;
  kernel.kernel_class = KernelClass::kConv;
  kernel.op = "conv";
  kernel.pass = pass;
  const int64_t x = 4 * n * l.c * l.in * l.in, y = 4 * n * l.k * out * out;
  const int64_t w = 4 * l.k * l.c * l.filter * l.filter;
  kernel.flop = 2 * n * l.k * out * out * l.c * l.filter * l.filter;
  kernel.written = pass == Pass::kForward ? y : pass == Pass::kBackwardData ? x : w;
  kernel.read = x + y + w - kernel.written;
  kernel.problem = p;
  return kernel;
}

constexpr Pass kPasses[] = {Pass::kForward, Pass::kBackwardData, Pass::kBackwardWeights};
// ResNet-50's and VGG's kinds of layers.
constexpr Layer kLayers[] = {
    {3, 64, 224, 7, 2, 3},   {64, 64, 56, 1, 1, 0},   {64, 64, 56, 3, 1, 1},
    {256, 512, 56, 1, 2, 0}, {256, 256, 14, 3, 1, 1}, {1024, 256, 14, 1, 1, 0},
    {512, 512, 7, 3, 1, 1},  {64, 64, 224, 3, 1, 1},  {128, 256, 56, 3, 1, 1}};
constexpr std::string_view kCards[] = {"gtx-titan-x",          "gtx-1080-ti",
                                       "tesla-p100-sxm2-16gb", "tesla-v100-sxm2-16gb",
                                       "quadro-p4000",         "tesla-t4"};

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

TEST_CASE("no convolution is faster than its card's roofline at the highest clock") {
  for (const std::string_view card : kCards) {
    for (const int cudnn : {400, 500, 501, 605, 706, 809}) {
      const TimeContext c = context(card, cudnn);
      const double peak = c.rates().peak_of(Arithmetic::kF32) * c.rates().maximum_clock;
      for (const Layer& layer : kLayers) {
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
    for (const Layer& layer : kLayers) {
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

// AlexNet's conv2 to conv5 as Kim et al. (ISPASS 2017) ran them: TITAN X, batch 256, cuDNN 5.0.
constexpr Layer kAlexNet[] = {{96, 256, 27, 5, 1, 2},
                              {256, 384, 13, 3, 1, 1},
                              {384, 384, 13, 3, 1, 1},
                              {384, 256, 13, 3, 1, 1}};

TEST_CASE("AlexNet's conv2 to conv5 at batch 256 take Fourier transforms, as Kim et al. saw") {
  const TimeContext c = context("gtx-titan-x", 500);
  for (const Layer& layer : kAlexNet) {
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

TEST_CASE("each generation of cuDNN shortens VGG-16 on the TITAN X as measured") {
  // jcjohnson/cnn-benchmarks, batch 16: 339 ms with 4.0, 262 with 5.0, 193 with 5.1.
  constexpr Layer kVgg[] = {
      {3, 64, 224, 3, 1, 1},    {64, 64, 224, 3, 1, 1},  {64, 128, 112, 3, 1, 1},
      {128, 128, 112, 3, 1, 1}, {128, 256, 56, 3, 1, 1}, {256, 256, 56, 3, 1, 1},
      {256, 256, 56, 3, 1, 1},  {256, 512, 28, 3, 1, 1}, {512, 512, 28, 3, 1, 1},
      {512, 512, 28, 3, 1, 1},  {512, 512, 14, 3, 1, 1}, {512, 512, 14, 3, 1, 1},
      {512, 512, 14, 3, 1, 1}};
  const auto seconds = [&](int cudnn) {
    const TimeContext c = context("gtx-titan-x", cudnn);
    double sum = 0;
    for (const Layer& layer : kVgg) {
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
  CHECK(own.basis(a.basis).starts_with("calibrated: sm_61"));
  CHECK(other.basis(b.basis).starts_with("transferred to sm_75"));
  CHECK(b.high / b.low > a.high / a.low);
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
  const auto seconds = [](Layout layout, DType dtype, const Layer& layer, int cudnn) {
    KernelAt kernel = conv(32, layer, Pass::kForward);
    kernel.dtype = dtype;
    if (dtype == DType::kFloat16) {
      kernel.read /= 2;
      kernel.written /= 2;
    }
    return kernel_time(kernel, context("tesla-v100-sxm2-16gb", cudnn, layout)).seconds;
  };
  const Layer& layer = kLayers[2];
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

TEST_CASE("before cuDNN 7.3 ordinary cores took channels that are no eights, and all weights") {
  const auto basis = [](const Layer& layer, int cudnn, Pass pass = Pass::kForward) {
    const TimeContext c = context("tesla-v100-sxm2-16gb", cudnn, Layout::kChannelsFirst);
    KernelAt kernel = conv(32, layer, pass);
    kernel.dtype = DType::kFloat16;
    return c.basis(kernel_time(kernel, c).basis);
  };
  CHECK(basis(kLayers[0], 700).find("f32 conv") != std::string::npos);
  CHECK(basis(kLayers[0], 706).find("f16_tensor conv") != std::string::npos);
  CHECK(basis(kLayers[2], 700).find("f16_tensor conv") != std::string::npos);
  CHECK(basis(kLayers[2], 700, Pass::kBackwardData).find("f16_tensor") != std::string::npos);
  CHECK(basis(kLayers[2], 700, Pass::kBackwardWeights).find("f32 conv") != std::string::npos);
  CHECK(basis(kLayers[2], 703, Pass::kBackwardWeights).find("f16_tensor") != std::string::npos);
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
  const TimeContext c(rates_of(*hwdb->device("gtx-1080-ti")), calibrations(), options);
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
    const TimeContext c(rates_of(*hwdb->device(card)), calibrations(), options);
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

// rejunity/cnn-benchmarks, V100 at batch 1: ResNet-50 takes 12.4 ms with columns and products,
// whose calls would take as long again if each cost what other operators' do.
TEST_CASE("what the loop over images launches is in its time") {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb.has_value());
  TimeOptions options;
  options.policy = AlgorithmPolicy::kIm2col;
  const TimeContext c(rates_of(*hwdb->device("tesla-v100-sxm2-16gb")), calibrations(), options);
  const KernelTime one = kernel_time(conv(1, kLayers[2], Pass::kForward), c);
  const KernelTime four = kernel_time(conv(4, kLayers[2], Pass::kForward), c);
  CHECK(one.launches == 0);
  CHECK(four.seconds == doctest::Approx(4 * one.seconds).epsilon(.01));
}

}  // namespace
}  // namespace plimsoll
