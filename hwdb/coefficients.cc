#include "hwdb/coefficients.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace plimsoll {

bool may_be_idle(const CoefficientRow& row) {
  return (row.low <= 0 && row.high >= 0) || row.name == "wgrad";
}

// cuDNN 9 has no Fourier transforms, and none of Winograd's on tensor cores.
bool is_used(const CoefficientRow& row, const Fit& fit) {
  constexpr int kWithoutTransforms = 900;
  static constexpr std::array<std::string_view, 6> kTransforms = {
      "fft", "fft_transform", "fused", "nonfused", "nonfused_wgrad", "transform"};
  if (fit.kernel_class != "conv" || fit.library < kWithoutTransforms) return true;
  const auto at = std::ranges::find(kTransforms, row.name) - kTransforms.begin();
  const auto without = fit.arithmetic.ends_with("_tensor") ? std::ssize(kTransforms) : 2;
  return at >= without;
}

int64_t coefficients(const Fit& fit) {
  auto count = static_cast<int64_t>(fit.clocks.size());
  const auto rows = coefficient_rows(fit.kernel_class);
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool fact = rows[i].name == "split" || rows[i].name == "few_columns";
    count += !fact && fit.terms[i] != 0 && is_used(rows[i], fit);
  }
  return count;
}

}  // namespace plimsoll
