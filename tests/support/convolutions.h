// Convolutions as kernels, and cards with the shipped calibrations to price them on.
#pragma once

#include <doctest/doctest.h>

#include "estimator/library/kernel_time.h"
#include "hwdb/calibration.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

inline TimeContext context(std::string_view device, int cudnn, Layout layout = Layout::kNative) {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb.has_value());
  const auto card = hwdb->device(device);
  REQUIRE(card.has_value());
  TimeOptions options;
  options.library.cudnn = cudnn;
  options.layout = layout;
  return TimeContext(rates_of(*card), Calibrations::shipped(), options);
}

struct ConvLayer {
  int64_t c, k, in, filter, stride, pad;
};

inline KernelAt conv(int64_t n, const ConvLayer& l, Pass pass) {
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

inline constexpr Pass kPasses[] = {Pass::kForward, Pass::kBackwardData, Pass::kBackwardWeights};
// ResNet-50's and VGG's kinds of layers.
inline constexpr ConvLayer kLayers[] = {
    {3, 64, 224, 7, 2, 3},   {64, 64, 56, 1, 1, 0},   {64, 64, 56, 3, 1, 1},
    {256, 512, 56, 1, 2, 0}, {256, 256, 14, 3, 1, 1}, {1024, 256, 14, 1, 1, 0},
    {512, 512, 7, 3, 1, 1},  {64, 64, 224, 3, 1, 1},  {128, 256, 56, 3, 1, 1}};
inline constexpr std::string_view kCards[] = {"gtx-titan-x",          "gtx-1080-ti",
                                              "tesla-p100-sxm2-16gb", "tesla-v100-sxm2-16gb",
                                              "quadro-p4000",         "tesla-t4"};

}  // namespace plimsoll
