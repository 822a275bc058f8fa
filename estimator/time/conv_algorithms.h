// Convolution as libraries run it: the cost of every algorithm a library generation has, and which
// one a framework's policy ends up with.
//
// With N images, i = C/groups, o = K/groups, P output and H input positions, T filter taps:
//   implicit GEMM   (P*N x o, k = i*T); data gradient (H*N x i, k = o*T / stride);
//                   weight gradient (i*T x o, k = P*N, split)
//   columns         data gradient by (P*N x i*T, k = o) and a scatter
//   Winograd        fused F(2x2,3x3); non-fused F(2x2) and F(4x4): a^2 products (tiles x o, k = i)
//                   between memory-bound transforms
//   FFT             whole images or tiles of 32: one complex product per frequency
// Winograd and FFT count the operations they really do, so no algorithm is ever above peak.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "estimator/time/gemm.h"
#include "graph/kernel.h"

namespace plimsoll {

enum class ConvAlgorithm : uint8_t {
  kImplicitGemm,
  kPrecomputedGemm,
  kColumns,  // the data gradient's multiplication and scatter
  kWinograd,
  kWinogradNonfused,
  kFft,
  kFftTiling,
  kDepthwise,
  kIm2col,  // columns written to memory, image by image, and the plain GEMM library
};
inline constexpr int kConvAlgorithmCount = 9;
// cuDNN's own words: "IMPLICIT_GEMM", "WINOGRAD_NONFUSED".
std::string_view name(ConvAlgorithm algorithm);
std::optional<ConvAlgorithm> conv_algorithm_from_name(std::string_view name);
// Precomputed offsets and tiles are details of one method.
bool same_method(ConvAlgorithm a, ConvAlgorithm b);

// Points of a sweep differ in their batch alone.
template <class Number>
struct ConvShapeOf {
  Number n = 1;
  double c = 1, k = 1, groups = 1;
  std::array<double, 3> in{1, 1, 1}, out{1, 1, 1}, filter{1, 1, 1}, pad{0, 0, 0}, stride{1, 1, 1},
      dilation{1, 1, 1};
  Pass pass = Pass::kForward;
  double element_bytes = 4;
  double product_bytes = 4;  // of an operand where it is multiplied: 4 for 16 bits on f32 units
};
using ConvShape = ConvShapeOf<double>;
ConvShape conv_shape(const ConvProblem<int64_t>& problem, Pass pass, double element_bytes,
                     double product_bytes);
// The same with other batches.
ConvShapeOf<Lanes> at_batches(const ConvShape& shape, const Lanes& n);

template <class Number>
struct ConvCostOf {
  ConvAlgorithm algorithm;
  Number seconds;
  Number flop, bytes;  // what this algorithm really does
  Number workspace;    // bytes
  TruthOf<Number> memory_bound;
};
using ConvCost = ConvCostOf<double>;

template <class Number>
struct ConvCostsOf {
  std::array<ConvCostOf<Number>, kConvAlgorithmCount> rows;
  int count = 0;
  std::span<const ConvCostOf<Number>> all() const {
    return {rows.data(), static_cast<size_t>(count)};
  }
};
using ConvCosts = ConvCostsOf<double>;

class ConvModel {
 public:
  // `terms`: kGemmTerms then kConvTerms; `cudnn`: 100 * major + minor, which algorithms exist.
  // `products_only`: neither Winograd nor Fourier transforms.
  ConvModel(std::span<const double> terms, const GemmRates& rates, int cudnn,
            bool products_only = false);
  // Those that take `limit` times the first one's time or longer take forever.
  ConvCosts costs(const ConvShape& shape, double limit = kNoLimit) const;
  ConvCostsOf<Lanes> costs(const ConvShapeOf<Lanes>& shapes, double limit = kNoLimit) const;
  double launch_seconds() const { return fixed_; }

 private:
  template <class Number>
  ConvCostsOf<Number> all_of(const ConvShapeOf<Number>&, double limit) const;
  template <class Number>
  ConvCostOf<Number> implicit(const ConvShapeOf<Number>&) const;
  template <class Number>
  ConvCostOf<Number> columns(const ConvShapeOf<Number>&, const Number& limit) const;
  template <class Number>
  ConvCostOf<Number> depthwise(const ConvShapeOf<Number>&) const;
  template <class Number>
  ConvCostOf<Number> winograd_fused(const ConvShapeOf<Number>&, const Number& limit) const;
  template <class Number>
  ConvCostOf<Number> winograd_nonfused(const ConvShapeOf<Number>&, const Number& limit,
                                       double outputs) const;
  template <class Number>
  ConvCostOf<Number> fft(const ConvShapeOf<Number>&, const Number& limit, bool tiled) const;

  GemmModel gemm_;
  GemmRates rates_;
  int cudnn_;
  bool products_only_;
  double bandwidth_, transform_, scatter_, fft_transform_, fixed_;
  double dgrad_, wgrad_, strided_dgrad_, fused_, nonfused_, nonfused_wgrad_, columns_, fft_,
      few_channels_;
};

}  // namespace plimsoll
