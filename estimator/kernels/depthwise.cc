#include "estimator/kernels/depthwise.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

// Taps of the largest filter that kernels are made for; longer loops are not unrolled.
constexpr double kLargestUnrolled = 25;

// DepthwiseConv2d.cu, conv_depthwise2d_grad_weight_kernel: a block of up to 8 warps makes a weight,
// a warp an image, 32 outputs at a time; so many blocks reside on a multiprocessor.
constexpr double kLanes = 32, kResidentBlocks = 8;
// How much worse a part-filled multiprocessor hides latency.
constexpr double kResidency = .5;

// cuDNN 9 brought channels-last kernels made for depthwise filters; before, they took so many times
// its clocks (MobileNets, EfficientNets and MNASNet trained on an RTX 3090 with 8.3:
// tests/measured/steps2-timm.json).
constexpr int kLastKernelsSince = 900;
constexpr double kLastBefore = 3;

double product(const std::array<double, 3>& v) { return v[0] * v[1] * v[2]; }

struct Sizes {
  double taps, inputs, padded, outputs, positions;
  explicit Sizes(const ConvShape& s) : taps(product(s.filter)), positions(product(s.out)) {
    inputs = s.n * s.c * product(s.in);
    outputs = s.n * s.k * positions;
    padded = s.n * s.c;
    for (size_t d = 0; d < 3; ++d) padded *= s.in[d] + 2 * s.pad[d];
  }
};

// So much longer than a full card for each of them.
double part_filled(double blocks, double multiprocessors) {
  const double waves = blocks / (multiprocessors * kResidentBlocks);
  const double full = std::floor(waves);
  const double resident = std::ceil((waves - full) * kResidentBlocks) / kResidentBlocks;
  return waves > 0 ? (full + std::pow(resident, 1 - kResidency)) / waves : 1;
}

}  // namespace

bool is_depthwise(const ConvProblem<int64_t>& problem) {
  return problem.groups > 1 && problem.groups == problem.c;
}

DepthwiseKernel depthwise_kernel(const ConvShape& s, DType dtype, bool channels_last) {
  if (channels_last) return DepthwiseKernel::kLast;
  const double side = s.filter[2], stride = s.stride[2], width = s.in[2];
  const bool suits = dtype == DType::kFloat16 && s.c >= 32 && s.in[0] == 1 &&
                     product(s.dilation) == 1 && s.filter[1] == side && s.stride[1] == stride &&
                     (side == 1 || side == 3 || side == 5) && width >= 7;
  if (!suits || stride > 2) return DepthwiseKernel::kOwn;
  if (stride == 1) return DepthwiseKernel::kFirst;
  bool faster = s.c >= 512 || (s.c >= 256 && width >= 28);
  if (side == 1) faster = s.n <= 16 && s.c >= 128 && width <= 7;
  if (s.n == 1) faster = side > 1 || width <= 28;
  return faster ? DepthwiseKernel::kFirst : DepthwiseKernel::kOwn;
}

DepthwiseModel::DepthwiseModel(std::span<const double> terms, const GemmRates& rates, int cudnn)
    : rates_(rates), last_(cudnn > 0 && cudnn < kLastKernelsSince ? kLastBefore : 1) {
  std::ranges::copy(terms, terms_.begin());
}

double DepthwiseModel::own_clocks(const ConvShape& s) const {
  const auto& t = terms_;
  const Sizes z(s);
  const bool large = z.taps > kLargestUnrolled;
  if (s.pass == Pass::kForward) {
    const double tap = t[kOwnTap] * (large ? std::exp(t[kOwnLarge]) : 1);
    return z.outputs * (t[kOwnOutput] + z.taps * tap) + z.inputs * t[kOwnImage];
  }
  if (s.pass == Pass::kBackwardData) {
    return z.inputs * (large ? z.taps * t[kOwnGradientTap] : t[kOwnGradient]);
  }
  const double blocks = s.k * z.taps;
  const double image = t[kOwnPlane] + std::ceil(z.positions / kLanes) * t[kOwnRound];
  return blocks * (s.n * image + t[kOwnBlock]) * part_filled(blocks, rates_.sms);
}

double DepthwiseModel::library_clocks(const ConvShape& s, bool last) const {
  const double* t = terms_.data() + (last ? int{kLastImage} : int{kFirstImage});
  const auto term = [&](DepthwiseTerm first) { return t[int{first} - int{kFirstImage}]; };
  const Sizes z(s);
  const bool large = z.taps > kLargestUnrolled, whole = s.element_bytes > 2;
  if (s.pass == Pass::kBackwardWeights) {
    if (whole) return z.outputs * z.taps * terms_[kLastWholeProduct];
    return z.inputs * term(kFirstWeightImage) + z.outputs * z.taps * term(kFirstWeightTap);
  }
  const bool gathers = s.pass == Pass::kBackwardData && (large || product(s.stride) > 1);
  if (gathers) {
    const double clocks = z.inputs * z.taps * term(kFirstGradientTap);
    return clocks * (whole ? std::exp(terms_[kLastWholeGradient]) : 1);
  }
  const double tap = term(kFirstTap) * (large ? std::exp(terms_[kLastLarge]) : 1);
  const double clocks = z.padded * term(kFirstImage) + z.outputs * z.taps * tap;
  return clocks * (whole ? std::exp(terms_[kLastWhole]) : 1);
}

ConvCost DepthwiseModel::cost(const ConvShape& s, DepthwiseKernel kernel) const {
  const Sizes z(s);
  const bool last = kernel == DepthwiseKernel::kLast;
  const double clocks = kernel == DepthwiseKernel::kOwn
                            ? own_clocks(s)
                            : library_clocks(s, last) * (last ? last_ : 1);
  const double bytes = (z.inputs + z.outputs + s.k * z.taps) * s.element_bytes;
  const double memory = bytes / rates_.bandwidth;
  const double compute = clocks / (rates_.sms * rates_.clock);
  return {.algorithm = ConvAlgorithm::kDepthwise,
          .seconds = terms_[kDepthwiseFixed] * 1e-6 + std::max(compute, memory),
          .compute_seconds = compute,
          .memory_seconds = memory,
          .flop = 2 * z.outputs * z.taps,
          .bytes = bytes,
          .workspace = 0,
          .memory_bound = memory > compute};
}

}  // namespace plimsoll
