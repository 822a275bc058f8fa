// Biases of zeros that PyTorch's newer exporter makes where a convolution has none, unless it is
// asked to optimise (onnxscript, aten_convolution): no kernel adds them.
#include <algorithm>

#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

constinit const Fragment kFilled("y = Expand(x)");

// A few are known contents by now, more of them one number, grown.
bool is_zeros(const Match& m) {
  const Tensor& bias = m.r.tensor(m["b"]);
  if (const auto grown = kFilled.of(m.r, m["b"])) return m.r.is_number((*grown)["x"], 0);
  return bias.kind == TensorKind::kValue && bias.has_dims &&
         std::ranges::all_of(bias.dims, [](const Dim& value) { return value == Dim(0); });
}

constexpr Pattern kBiasRows[] = {
    {.name = "convolution without a bias",
     .match = "y = Conv(x, w, b) {?}",
     .result = "y = Conv(x, w) {?}",
     .when = is_zeros,
     .example = "input x: f32[B,3,8,8]; param w: f32[4,3,3,3]; const z: f32[] = [0];"
                "const n: i64[1] = [4]; b = Expand(z, n); y = Conv(x, w, b) {strides=[2,2]}",
     .after = "y = Conv(x, w) {strides=[2,2]}",
     .near_miss = "const z: f32[] = [1]"},
    {.name = "transposed convolution without a bias",
     .match = "y = ConvTranspose(x, w, b) {?}",
     .result = "y = ConvTranspose(x, w) {?}",
     .when = is_zeros,
     .example = "input x: f32[B,3,8,8]; param w: f32[3,4,3,3]; const z: f32[] = [0];"
                "const n: i64[1] = [4]; b = Expand(z, n); y = ConvTranspose(x, w, b)",
     .after = "y = ConvTranspose(x, w)",
     .near_miss = "param b: f32[4]; e = Expand(z, n)"},
};

}  // namespace

std::span<const Pattern> generated_biases() { return kBiasRows; }

}  // namespace plimsoll::patterns
