#include "estimator/time/collective.h"

namespace plimsoll {

double collective_seconds(CollectiveKind kind, double bytes, int64_t devices,
                          const LinkRates& link) {
  if (devices <= 1 || link.bandwidth <= 0) return 0;
  const double n = static_cast<double>(devices);
  if (kind != CollectiveKind::kAllReduce) return link.latency / 2 + bytes / link.bandwidth;
  return link.latency + 2 * (n - 1) / n * bytes / link.bandwidth;
}

}  // namespace plimsoll
