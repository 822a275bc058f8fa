#include "estimator/kernels/roofline.h"

#include <algorithm>

namespace plimsoll {

double roofline_seconds(const KernelAt& kernel, const DeviceRates& rates) {
  const double peak = rates.peak_of(arithmetic_on(rates, kernel.dtype, kernel.tensor_core));
  const auto bytes = static_cast<double>(kernel.read) + static_cast<double>(kernel.written);
  const double computing = peak > 0 ? static_cast<double>(kernel.flop) / peak : 0;
  return std::max(computing, rates.bandwidth > 0 ? bytes / rates.bandwidth : 0);
}

}  // namespace plimsoll
