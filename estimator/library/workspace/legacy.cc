#include "estimator/library/workspace/legacy.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "graph/base/checked.h"

namespace plimsoll {
namespace {

int64_t power_of_two(int64_t value) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(value)));
}

// Planes of x, w and y as complex numbers in single precision, whole ones: TensorFlow, which tries
// each algorithm, takes regions of 1 GiB for a 3x3 filter of 512 x 512 at 7x7 and of 4 GiB for
// VGG's 64 x 64 at 224x224 (DLInfBench, batch 1), which half a plane would not ask for.
int64_t fft(const WorkspaceShape& v) {
  const int64_t height = power_of_two(v.h + 2 * v.pad_h), width = power_of_two(v.w + 2 * v.pad_w);
  return (v.n * v.c + v.c * v.k + v.n * v.k) * height * width * 8;
}

// Tiles of 32x32; an upper bound, for cuDNN may loop over parts of the batch.
int64_t fft_tiling(const WorkspaceShape& v) {
  const int64_t tiles = ceil_divide(v.p, 33 - v.r) * ceil_divide(v.q, 33 - v.s);
  return (v.n * v.c * tiles + v.c * v.k + v.n * v.k * tiles) * 32 * 17 * 8;
}

// F(m x m) with tiles of a x a: transformed x, y and filter. m = 2, a = 4 for 3x3 lies in the
// measured brackets, m = 4 does not.
int64_t winograd_nonfused(const WorkspaceShape& v, int64_t size) {
  const int64_t m = 2, a = v.r == 3 ? 4 : 6;
  const int64_t tiles = v.n * ceil_divide(v.p, m) * ceil_divide(v.q, m);
  return a * a * size * (v.c * tiles + v.k * tiles + v.c * v.k);
}

}  // namespace

std::vector<LegacyAlgorithm> legacy_algorithms(const WorkspaceShape& v, Pass pass, DType dtype) {
  const int64_t size = bits(dtype) / 8;
  std::vector<LegacyAlgorithm> found = {{"implicit_gemm", 0}};
  const bool dilated = v.dil_h > 1 || v.dil_w > 1;
  const int64_t c = v.c / v.groups;
  found.push_back(
      {"implicit_precomp_gemm", ceil_divide(4 * (c * v.r * v.s + v.p * v.q), 512) * 512});
  if (dilated) return found;
  const bool pointwise = v.r * v.s == 1 && v.stride_h * v.stride_w == 1 && v.pad_h + v.pad_w == 0;
  if (pass == Pass::kForward) {
    found.push_back({"gemm", pointwise ? 0 : c * v.r * v.s * v.p * v.q * size});
  }
  if (v.stride_h > 1 || v.stride_w > 1 || v.groups > 1 || dtype == DType::kFloat64) return found;
  if (v.r > v.pad_h && v.s > v.pad_w) {
    if (v.h + 2 * v.pad_h <= 256 && v.w + 2 * v.pad_w <= 256) found.push_back({"fft", fft(v)});
    if (v.r <= 32 && v.s <= 32) found.push_back({"fft_tiling", fft_tiling(v)});
  }
  const bool three = v.r == 3 && v.s == 3, five = v.r == 5 && v.s == 5;
  if (three && pass != Pass::kBackwardWeights) found.push_back({"winograd", 16 * v.c * v.k * 4});
  if (three || (five && size == 4)) {
    found.push_back({"winograd_nonfused", winograd_nonfused(v, size)});
  }
  return found;
}

LegacyAlgorithm legacy_choice(const WorkspaceShape& shape, Pass pass, DType dtype, int capability,
                              std::optional<int64_t> limit) {
  const std::vector<std::string_view> wanted =
      capability >= 70 ? std::vector<std::string_view>{"winograd_nonfused", "winograd"}
                       : std::vector<std::string_view>{"winograd"};
  const auto algorithms = legacy_algorithms(shape, pass, dtype);
  const auto fits = [&](const LegacyAlgorithm& a) { return !limit || a.bytes <= *limit; };
  for (const std::string_view name : wanted) {
    for (const LegacyAlgorithm& algorithm : algorithms) {
      if (algorithm.name == name && fits(algorithm)) return algorithm;
    }
  }
  return fits(algorithms[1]) ? algorithms[1] : algorithms[0];
}

}  // namespace plimsoll
