#include "estimator/time/turning.h"

namespace plimsoll {
namespace {

// Bandwidth of copies between layouts; assumed, as of other copies.
constexpr double kTurnBandwidth = .7;
// From cuDNN 9 on tensor cores, measured: the same convolutions with channels first and last differ
// by so much, and by three short kernels where images are small (H100, cuDNN 9.19, 84 convolutions
// of measured/conv.csv: quartiles .54 and .63). A filter of one tap without stride is a product of
// matrices there, which takes channels in either place: no copy and no time for one in 16 and 32
// bits. In 7's steps on Volta and Turing the copies are there; 8 was not measured.
constexpr int kMeasuredSince = 900;
constexpr double kMeasuredBandwidth = .57;
constexpr double kKernels = 3, kLaunch = 2.5e-6;

}  // namespace

double turning_seconds(const ConvShape& s, Layout layout, bool on_tensor_cores, int cudnn,
                       double bandwidth) {
  const Layout wanted = on_tensor_cores ? Layout::kChannelsLast : Layout::kChannelsFirst;
  if (layout == Layout::kNative || layout == wanted) return 0;
  const bool measured = on_tensor_cores && (cudnn == 0 || cudnn >= kMeasuredSince);
  const double taps = s.filter[0] * s.filter[1] * s.filter[2];
  // With channels last a filter of one tap is a plain product.
  const bool product = taps * s.stride[0] * s.stride[1] * s.stride[2] == 1;
  if (product && (measured || layout == Layout::kChannelsLast)) return 0;
  const double in = s.n * s.c * s.in[0] * s.in[1] * s.in[2];
  const double out = s.n * s.k * s.out[0] * s.out[1] * s.out[2];
  const double filters = measured && taps > 1 ? s.k * s.c / s.groups * taps : 0;
  const double bytes = 2 * (in + out + filters) * s.element_bytes;
  if (!measured) return bytes / (kTurnBandwidth * bandwidth);
  return bytes / (kMeasuredBandwidth * bandwidth) + kKernels * kLaunch;
}

}  // namespace plimsoll
