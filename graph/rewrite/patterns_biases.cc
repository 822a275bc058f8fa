// Biases of zeros that PyTorch's newer exporter makes where a convolution has none, unless it is
// asked to optimise (onnxscript, aten_convolution): no kernel adds them.
#include "graph/ops/zeros.h"
#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

// Made of shapes and numbers, or of no shape that a bias has; an array of the file that holds a
// zero for each channel may be trained all the same.
bool is_made_of_zeros(const Match& m) {
  const bool made = m.r.tensor(m["b"]).kind == TensorKind::kValue || m.r.rank(m["b"]) != 1;
  return made && is_zeros(m.r.graph(), m["b"]);
}

constexpr Pattern kBiasRows[] = {
    {.name = "convolution without a bias",
     .match = "y = Conv(x, w, b) {?}",
     .result = "y = Conv(x, w) {?}",
     .when = is_made_of_zeros,
     .example = "input x: f32[B,3,8,8]; param w: f32[4,3,3,3]; const z: f32[] = [0];"
                "const n: i64[1] = [4]; b = Expand(z, n); y = Conv(x, w, b) {strides=[2,2]}",
     .after = "y = Conv(x, w) {strides=[2,2]}",
     .near_miss = "const z: f32[] = [1]"},
    {.name = "transposed convolution without a bias",
     .match = "y = ConvTranspose(x, w, b) {?}",
     .result = "y = ConvTranspose(x, w) {?}",
     .when = is_made_of_zeros,
     .example = "input x: f32[B,3,8,8]; param w: f32[3,4,3,3]; const z: f32[] = [0];"
                "const n: i64[1] = [4]; b = Expand(z, n); y = ConvTranspose(x, w, b)",
     .after = "y = ConvTranspose(x, w)",
     .near_miss = "param b: f32[4]; e = Expand(z, n)"},
};

}  // namespace

std::span<const Pattern> generated_biases() { return kBiasRows; }

}  // namespace plimsoll::patterns
