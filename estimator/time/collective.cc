#include "estimator/time/collective.h"

#include <algorithm>

namespace plimsoll {

double all_reduce_seconds(double bytes, int64_t devices, const LinkRates& link) {
  if (devices <= 1 || link.bandwidth <= 0) return 0;
  const double n = static_cast<double>(devices);
  return link.latency * (n - 1) + 2 * (n - 1) / n * bytes / link.bandwidth;
}

double exposed_all_reduce(double bytes, int64_t devices, double backward, const LinkRates& link) {
  const double seconds = all_reduce_seconds(bytes, devices, link);
  return std::max(0.0, seconds - link.overlap * backward);
}

}  // namespace plimsoll
