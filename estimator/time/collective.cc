#include "estimator/time/collective.h"

namespace plimsoll {

double share_of_link(CollectiveKind kind, double devices) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * (devices - 1) / devices;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
    case CollectiveKind::kSendReceive:
    case CollectiveKind::kToHost:
    case CollectiveKind::kFromHost:
    case CollectiveKind::kOnHost:
      return 1;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      return (devices - 1) / devices;
  }
  return 1;
}

double collective_seconds(CollectiveKind kind, double bytes, int64_t devices,
                          const LinkRates& link) {
  if (devices <= 1 || link.bandwidth <= 0) return 0;
  const double hops = kind == CollectiveKind::kAllReduce ? link.latency : link.latency / 2;
  const bool one_way = kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce;
  const double rate = one_way ? link.in_one_direction() : link.bandwidth;
  return hops + share_of_link(kind, static_cast<double>(devices)) * bytes / rate;
}

}  // namespace plimsoll
