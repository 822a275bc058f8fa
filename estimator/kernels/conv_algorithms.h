// Convolution as libraries run it: the cost of every algorithm a library generation has, and which
// one a framework's policy ends up with.
//
// With N images, i = C/groups, o = K/groups, P output and H input positions, T filter taps:
//   implicit GEMM   (P*N x o, k = i*T); data gradient (H*N x i, k = o*T / stride);
//                   weight gradient (i*T x o, k = P*N, split; on ordinary cores P whole slabs)
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

#include "estimator/kernels/gemm.h"
#include "estimator/request/algorithm_policy.h"
#include "graph/ir/kernel.h"

namespace plimsoll {

// From this version on tensor cores multiply without transforms: of cuDNN 9's plans on them none is
// Winograd (hwdb/workspaces), and measured ones are told as well without (H100, cuDNN 9.19).
inline constexpr int kProductsOnTensorCores = 900;

// Precomputed offsets and tiles are details of one method.
bool same_method(ConvAlgorithm a, ConvAlgorithm b);

struct ConvShape {
  double n = 1, c = 1, k = 1, groups = 1;
  std::array<double, 3> in{1, 1, 1}, out{1, 1, 1}, filter{1, 1, 1}, pad{0, 0, 0}, stride{1, 1, 1},
      dilation{1, 1, 1};
  Pass pass = Pass::kForward;
  double element_bytes = 4;
  double product_bytes = 4;  // of an operand where it is multiplied: 4 for 16 bits on f32 units
};
ConvShape conv_shape(const ConvProblem<int64_t>& problem, Pass pass, double element_bytes,
                     double product_bytes);

struct ConvCost {
  ConvAlgorithm algorithm = ConvAlgorithm::kImplicitGemm;
  double seconds = 0;
  // Of it, products and the traffic beside them: the longer of the two counts.
  double compute_seconds = 0, memory_seconds = 0;
  double flop = 0, bytes = 0;  // what this algorithm really does
  double workspace = 0;        // bytes
  bool memory_bound = false;
};

struct ConvCosts {
  std::array<ConvCost, kConvAlgorithmCount> rows;
  int count = 0;
  std::span<const ConvCost> all() const { return {rows.data(), static_cast<size_t>(count)}; }
};

class ConvModel {
 public:
  // `terms`: kGemmTerms then kConvTerms; `cudnn`: 100 * major + minor, which algorithms exist.
  // `products_only`: neither Winograd nor Fourier transforms.
  ConvModel(std::span<const double> terms, const GemmRates& rates, int cudnn,
            bool products_only = false);
  // Those that take `limit` times the first one's time or longer take forever.
  ConvCosts costs(const ConvShape& shape, double limit = kNoLimit) const;
  // Of the products alone.
  ConvCost product(const ConvShape& shape) const { return implicit(shape); }
  double launch_seconds() const { return fixed_; }

 private:
  ConvCost implicit(const ConvShape&) const;
  ConvCost columns(const ConvShape&, double limit) const;
  ConvCost depthwise(const ConvShape&) const;
  ConvCost winograd_fused(const ConvShape&, double limit) const;
  ConvCost winograd_nonfused(const ConvShape&, double limit, double outputs) const;
  ConvCost fft(const ConvShape&, double limit, bool tiled) const;

  GemmModel gemm_;
  GemmRates rates_;
  int cudnn_;
  bool products_only_;
  double bandwidth_, transform_, scatter_, fft_transform_, fixed_;
  double dgrad_, wgrad_, strided_dgrad_, fused_, nonfused_, nonfused_wgrad_, columns_, fft_,
      few_channels_, wgrad_steps_;
};

}  // namespace plimsoll
