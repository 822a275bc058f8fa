#include "estimator/kernels/conv_algorithms.h"

#include <algorithm>
#include <cmath>

#include "hwdb/calibration_terms.h"

namespace plimsoll {
namespace {

double product(const std::array<double, 3>& v) { return v[0] * v[1] * v[2]; }

struct Sizes {
  double i, o, taps, positions_in, positions_out, stride;
  double w;     // elements of the filters
  double x, y;  // ... of the images
  explicit Sizes(const ConvShape& s)
      : i(s.c / s.groups),
        o(s.k / s.groups),
        taps(product(s.filter)),
        positions_in(product(s.in)),
        positions_out(product(s.out)),
        stride(product(s.stride)),
        w(s.k * i * taps),
        x(s.n * s.c * positions_in),
        y(s.n * s.k * positions_out) {}
  double bytes(double element) const { return (x + w + y) * element; }
};

// In 64 bits cuDNN has products only (CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, _FFT: no DOUBLE_CONFIG),
// and those of a forward pass take so much longer for a flop than a gradient's: 4.4 against 3.2 ms
// for 1e9 of them on a TITAN Xp, 16 networks (ryujaehun/pytorch-gpu-benchmark).
constexpr double kForward64 = 4.4 / 3.2;
bool in_64_bits(const ConvShape& s) { return s.element_bytes > 4; }

// From this version on every pass may split its sum over blocks (cuDNN 8: CUDNN_KNOB_TYPE_SPLIT_K;
// engines of forward passes and of data gradients with split sums are among those asked about);
// before, gradients of weights alone did.
constexpr int kSplitsAll = 800;

// cuDNN 9 lists no Fourier transforms for any convolution asked about (hwdb/workspaces).
constexpr int kWithoutFourier = 900;

// Gradients of weights on ordinary cores are sums of products, one for each image, which blocks add
// to memory (cuDNN API reference: CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 and 3): a slab of positions
// is of one image. Of 8, 16 and 24 this one is nearest to DeepBench's kernels left out. Smaller
// images, of which DeepBench has none, share slabs.
constexpr double kSlab = 16;

double in_slabs(double positions) {
  return positions < kSlab ? positions : std::ceil(positions / kSlab) * kSlab;
}

bool unit(const std::array<double, 3>& v) { return product(v) == 1; }
bool flat(const ConvShape& s) { return s.in[0] == 1 && s.filter[0] == 1; }
bool square(const ConvShape& s, double side) {
  return flat(s) && s.filter[1] == side && s.filter[2] == side;
}

}  // namespace

bool same_method(ConvAlgorithm a, ConvAlgorithm b) {
  const auto plain = [](ConvAlgorithm c) {
    return c == ConvAlgorithm::kPrecomputedGemm ? ConvAlgorithm::kImplicitGemm
           : c == ConvAlgorithm::kFftTiling     ? ConvAlgorithm::kFft
                                                : c;
  };
  return plain(a) == plain(b);
}

ConvShape conv_shape(const ConvProblem<int64_t>& p, Pass pass, double element_bytes,
                     double product_bytes) {
  ConvShape s;
  s.n = static_cast<double>(p.n);
  s.c = static_cast<double>(p.c);
  s.k = static_cast<double>(p.k);
  s.groups = static_cast<double>(p.groups);
  for (size_t d = 0; d < 3; ++d) {
    s.in[d] = static_cast<double>(p.in[d]);
    s.out[d] = static_cast<double>(p.out[d]);
    s.filter[d] = static_cast<double>(p.filter[d]);
    s.pad[d] = static_cast<double>(p.pad[d]);
    s.stride[d] = static_cast<double>(p.stride[d]);
    s.dilation[d] = static_cast<double>(p.dilation[d]);
  }
  s.pass = pass;
  s.element_bytes = element_bytes;
  s.product_bytes = product_bytes;
  return s;
}

ConvModel::ConvModel(std::span<const double> t, const GemmRates& rates, int cudnn,
                     bool products_only)
    : gemm_(t.first(kGemmTermCount), rates),
      rates_(rates),
      cudnn_(cudnn),
      products_only_(products_only),
      bandwidth_(rates.bandwidth * t[kBandwidth]),
      transform_(rates.bandwidth * t[kTransform]),
      scatter_(rates.bandwidth * t[kScatter]),
      fft_transform_(rates.bandwidth * t[kFftTransform]),
      fixed_(t[kFixed] * 1e-6),
      dgrad_(t[kDgrad]),
      wgrad_(t[kWgrad]),
      strided_dgrad_(t[kStridedDgrad]),
      fused_(t[kFused]),
      nonfused_(t[kNonfused]),
      nonfused_wgrad_(t[kNonfusedWgrad]),
      columns_(t[kColumns]),
      fft_(t[kFft]),
      few_channels_(std::exp(t[kFewChannels])),
      wgrad_steps_(t[kWgradSteps]) {}

ConvCost ConvModel::implicit(const ConvShape& s) const {
  const Sizes z(s);
  GemmShape g{.batch = s.groups, .element_bytes = s.element_bytes};
  g.bytes = z.bytes(s.element_bytes);
  g.may_split = cudnn_ >= kSplitsAll;
  if (s.pass == Pass::kForward) {
    g.n = s.n * z.positions_out;
    g.m = z.o;
    g.k = z.i * z.taps;
    if (z.i < 8) g.slower = few_channels_;
    if (in_64_bits(s)) g.slower *= kForward64;
  } else if (s.pass == Pass::kBackwardData) {
    g.n = s.n * z.positions_in;
    g.m = z.i;
    g.k = std::max(1.0, z.o * z.taps / z.stride);
    g.slower = 1 / (z.stride > 1 ? strided_dgrad_ : dgrad_);
  } else {
    g.n = z.i * z.taps;
    g.m = z.o;
    g.k = s.n * z.positions_out;
    g.may_split = true;
    if (wgrad_ > 0) {
      g.slower = 1 / wgrad_;
    } else {
      g.slower = 1 / dgrad_;
      g.k = s.n * in_slabs(z.positions_out);
      g.more_steps = wgrad_steps_;
    }
  }
  const GemmCost cost = gemm_.cost(g);
  // Offsets of the taps are computed ahead in forward passes with more than one.
  const bool precomputed = s.pass != Pass::kForward || z.taps > 1 || cudnn_ < 700;
  return {.algorithm = precomputed ? ConvAlgorithm::kPrecomputedGemm : ConvAlgorithm::kImplicitGemm,
          .seconds = cost.seconds,
          .compute_seconds = cost.compute_seconds,
          .memory_seconds = cost.memory_seconds,
          .flop = cost.flop,
          .bytes = cost.bytes,
          .workspace = 0,
          .memory_bound = cost.memory_seconds > cost.compute_seconds};
}

ConvCost ConvModel::columns(const ConvShape& s, double limit) const {
  const Sizes z(s);
  GemmShape g{.m = z.i * z.taps, .n = s.n * z.positions_out, .k = z.o, .batch = s.groups};
  g.may_split = false;
  g.bytes = z.bytes(s.element_bytes);
  g.slower = 1 / columns_;
  const double column_bytes = s.n * z.positions_out * s.c * z.taps * s.element_bytes;
  const double moved = column_bytes + (z.x + z.y) * s.element_bytes;
  const GemmCost cost = gemm_.cost(g, limit - moved / scatter_);
  return {.algorithm = ConvAlgorithm::kColumns,
          .seconds = cost.seconds + moved / scatter_,
          .compute_seconds = cost.compute_seconds,
          .memory_seconds = cost.memory_seconds,
          .flop = cost.flop,
          .bytes = cost.bytes + moved,
          .workspace = 0,
          .memory_bound = moved / scatter_ > cost.seconds};
}

// As many times the traffic, as networks show; where kernels were measured,
// estimator/kernels/depthwise.h.
ConvCost ConvModel::depthwise(const ConvShape& s) const {
  const Sizes z(s);
  const double bytes = z.bytes(s.element_bytes);
  const double again = s.pass == Pass::kBackwardWeights ? 6 : 2.5;
  return {.algorithm = ConvAlgorithm::kDepthwise,
          .seconds = again * bytes / bandwidth_ + fixed_,
          .flop = 2 * z.y * z.i * z.taps,
          .bytes = bytes,
          .workspace = 0,
          .memory_bound = bytes >= 0};
}

ConvCost ConvModel::winograd_fused(const ConvShape& s, double limit) const {
  const Sizes z(s);
  const auto& out = s.pass == Pass::kForward ? s.out : s.in;
  const double tiles = s.n * std::ceil(out[1] / 2) * std::ceil(out[2] / 2);
  const double from = s.pass == Pass::kForward ? z.i : z.o;
  const double to = s.pass == Pass::kForward ? z.o : z.i;
  // A block makes 32 tiles x 32 outputs with 16 products each: 128 x 128 of a GEMM.
  GemmShape g{.m = std::ceil(to / 32) * 128,
              .n = std::ceil(tiles / 32) * 128,
              .k = from,
              .batch = s.groups};
  g.may_split = false;
  g.bytes = z.bytes(s.element_bytes);
  g.slower = 1 / fused_;
  g.prologue = .125;
  const GemmCost cost = gemm_.cost(g, limit);
  return {
      .algorithm = ConvAlgorithm::kWinograd,
      .seconds = cost.seconds,
      .compute_seconds = cost.compute_seconds,
      .memory_seconds = cost.memory_seconds,
      .flop = 2 * 16 * tiles * from * to * s.groups,
      .bytes = cost.bytes,
      .workspace = 16 * z.i * z.o * s.groups * sizeof(float),  // filters, as legacy_algorithms()
      .memory_bound = cost.memory_seconds > cost.compute_seconds};
}

ConvCost ConvModel::winograd_nonfused(const ConvShape& s, double limit, double outputs) const {
  const Sizes z(s);
  const bool weights = s.pass == Pass::kBackwardWeights;
  const auto& out = s.pass == Pass::kBackwardData ? s.in : s.out;
  const double tiles = s.n * std::ceil(out[1] / outputs) * std::ceil(out[2] / outputs);
  const double side = outputs + s.filter[1] - 1;
  const double points = side * side;
  GemmShape g{.batch = points * s.groups};
  g.n = weights ? z.i : tiles;
  g.m = s.pass == Pass::kBackwardData ? z.i : z.o;
  g.k = weights ? tiles : s.pass == Pass::kBackwardData ? z.o : z.i;
  g.may_split = weights;
  g.element_bytes = s.product_bytes;
  g.slower = 1 / (weights ? nonfused_wgrad_ : nonfused_);
  const double transformed =
      points * (tiles * (z.i + z.o) + z.i * z.o) * s.groups * s.product_bytes;
  const double moved = z.bytes(s.element_bytes) + transformed;
  const GemmCost cost = gemm_.cost(g, limit - moved / transform_);
  return {.algorithm = ConvAlgorithm::kWinogradNonfused,
          .seconds = cost.seconds + moved / transform_,
          .compute_seconds = cost.compute_seconds,
          .memory_seconds = cost.memory_seconds,
          .flop = cost.flop,
          .bytes = cost.bytes + moved,
          .workspace = transformed,
          .memory_bound = moved / transform_ > cost.seconds};
}

ConvCost ConvModel::fft(const ConvShape& s, double limit, bool tiled) const {
  const Sizes z(s);
  const double rows = s.out[1] + s.filter[1] - 1, columns = s.out[2] + s.filter[2] - 1;
  double high = 32, wide = 32;
  double tiles = s.n;
  if (tiled) {
    tiles *= std::ceil(s.out[1] / (33 - s.filter[1])) * std::ceil(s.out[2] / (33 - s.filter[2]));
  } else {
    high = wide = 8;
    while (high < rows) high *= 2;
    while (wide < columns) wide *= 2;
  }
  const double frequencies = high * (wide / 2 + 1);
  const bool weights = s.pass == Pass::kBackwardWeights;
  // Three real products make a complex one.
  GemmShape g{.batch = 3 * frequencies * s.groups};
  g.n = weights ? z.i : tiles;
  g.m = s.pass == Pass::kBackwardData ? z.i : z.o;
  g.k = weights ? tiles : s.pass == Pass::kBackwardData ? z.o : z.i;
  g.may_split = false;
  g.slower = 1 / fft_;
  const double planes = 8 * s.groups * (tiles * (z.i + z.o) + z.i * z.o);
  const double spectra = frequencies * planes;
  g.bytes = spectra;
  const double moved = z.bytes(s.element_bytes) + 2 * spectra;
  const GemmCost cost = gemm_.cost(g, limit - moved / fft_transform_);
  return {.algorithm = tiled ? ConvAlgorithm::kFftTiling : ConvAlgorithm::kFft,
          .seconds = cost.seconds + moved / fft_transform_,
          .compute_seconds = cost.compute_seconds,
          .memory_seconds = cost.memory_seconds,
          .flop = cost.flop,
          .bytes = cost.bytes + moved,
          .workspace = tiled ? spectra : high * wide * planes,  // as legacy_algorithms()
          .memory_bound = moved / fft_transform_ > cost.seconds};
}

// In the order in which algorithms of like times are taken: from cuDNN 7 on, Winograd in three
// kernels before the fused one.
ConvCosts ConvModel::costs(const ConvShape& s, double limit) const {
  ConvCosts all;
  const auto add = [&](const ConvCost& cost) { all.rows[all.count++] = cost; };
  const Sizes z(s);
  if (z.i == 1 && s.groups > 1) {
    add(depthwise(s));
    return all;
  }
  add(implicit(s));
  const double longest = limit * all.rows[0].seconds;
  if (s.pass == Pass::kBackwardData) add(columns(s, longest));
  if (products_only_ || !unit(s.stride) || !unit(s.dilation) || !flat(s) || in_64_bits(s))
    return all;
  const bool weights = s.pass == Pass::kBackwardWeights;
  const bool fused = cudnn_ >= 500 && square(s, 3) && !weights;
  if (fused && cudnn_ < 700) add(winograd_fused(s, longest));
  if (cudnn_ >= 500 && (square(s, 3) || (cudnn_ >= 700 && square(s, 5)))) {
    const ConvCost small = winograd_nonfused(s, longest, 2),
                   large = winograd_nonfused(s, longest, 4);
    add(small.seconds < large.seconds ? small : large);
  }
  if (fused && cudnn_ >= 700) add(winograd_fused(s, longest));
  const bool fft_pass = s.pass == Pass::kBackwardData ? cudnn_ >= 400 : cudnn_ >= 300;
  if (cudnn_ < kWithoutFourier && fft_pass && z.taps > 1 && s.filter[1] <= 32 &&
      s.filter[2] <= 32 && s.pad[1] < s.filter[1] && s.pad[2] < s.filter[2]) {
    if (s.in[1] + s.filter[1] <= 257 && s.in[2] + s.filter[2] <= 257) add(fft(s, longest, false));
    if (s.filter[1] < 32 && s.filter[2] < 32) add(fft(s, longest, true));
  }
  return all;
}

}  // namespace plimsoll
