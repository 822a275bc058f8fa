#include "estimator/kernels/layout_conversion.h"

#include <algorithm>

namespace plimsoll {
namespace {

// From cuDNN 9 on tensor cores, measured: bound by memory, or by the elements that a multiprocessor
// turns in a clock, and three short kernels. In 32 bits VGG-16's copies reach .92 of an H100's
// bandwidth and .80 of an H200's, which is 1.84 elements; in 16 bits the same convolutions with
// channels first and last differ by .57 of the bandwidth, which is 1.83 (84 convolutions of
// measured/conv.csv). A filter of one tap without stride is a product of matrices there, which
// takes channels in either place: no copy and no time for one in 16 and 32 bits. In 7's steps on
// Volta and Turing the copies are there; with 8 steps in TF32 on A100 have none, those in 16 bits
// do (tests/measured/steps2-*.json). Before 9 the bandwidth alone is taken: 30 convolutional
// networks trained in 16 bits on an RTX 3090 with 8.3, channels first, come out as long as they are
// with it (tests/measured/steps*-timm*.json).
constexpr int kMeasuredSince = 900, kProductsInPlaceSince = 800;
constexpr double kBandwidth = .92, kElementsPerClock = 1.83;
constexpr double kKernels = 3, kLaunch = 2.5e-6;

}  // namespace

double layout_conversion_seconds(const ConvShape& s, Layout layout, bool on_tensor_cores, int cudnn,
                                 const DeviceRates& card) {
  const Layout wanted = on_tensor_cores ? Layout::kChannelsLast : Layout::kChannelsFirst;
  if (layout == Layout::kNative || layout == wanted) return 0;
  const bool measured = on_tensor_cores && (cudnn == 0 || cudnn >= kMeasuredSince);
  const double taps = s.filter[0] * s.filter[1] * s.filter[2];
  // With channels last a filter of one tap is a plain product.
  const bool product = taps * s.stride[0] * s.stride[1] * s.stride[2] == 1;
  const bool in_place = measured || (s.element_bytes > 2 && cudnn >= kProductsInPlaceSince);
  if (product && (in_place || layout == Layout::kChannelsLast)) return 0;
  const double in = s.n * s.c * s.in[0] * s.in[1] * s.in[2];
  const double out = s.n * s.k * s.out[0] * s.out[1] * s.out[2];
  const double filters = measured && taps > 1 ? s.k * s.c / s.groups * taps : 0;
  const double elements = in + out + filters, bytes = 2 * elements * s.element_bytes;
  const double moved = bytes / (kBandwidth * card.bandwidth);
  if (!measured) return moved;
  const double converted =
      card.clock > 0 ? elements / (kElementsPerClock * card.sms * card.light_clock()) : 0;
  return std::max(moved, converted) + kKernels * kLaunch;
}

}  // namespace plimsoll
