#include "estimator/time/collective.h"

#include <algorithm>

namespace plimsoll {

double all_reduce_seconds(double bytes, int64_t devices, const LinkRates& link) {
  if (devices <= 1 || link.bandwidth <= 0) return 0;
  const double n = static_cast<double>(devices);
  return link.latency + 2 * (n - 1) / n * bytes / link.bandwidth;
}

// The last bucket of gradients is whole only when the backward pass ends: PyTorch's
// DistributedDataParallel fills buckets of 25 MiB (bucket_cap_mb).
constexpr double kBucketBytes = 25 * 1024.0 * 1024.0;

double exposed_all_reduce(double bytes, int64_t devices, double backward, const LinkRates& link) {
  const double seconds = all_reduce_seconds(bytes, devices, link);
  const double last_bucket = all_reduce_seconds(std::min(bytes, kBucketBytes), devices, link);
  return std::max(last_bucket, seconds - link.overlap * backward);
}

}  // namespace plimsoll
