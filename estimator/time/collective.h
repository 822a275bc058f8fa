// Collectives: what devices tell each other, by a ring.
//   all-reduce: latency(n) + 2 (n - 1) / n * bytes / bus bandwidth
//   broadcast, reduce: half of the latency, each link carries all bytes once, in one direction
//   all-gather, reduce-scatter, all-to-all: half of the latency, (n - 1) / n of the bytes
#pragma once

#include <cstdint>

#include "graph/ir/step.h"

namespace plimsoll {

struct LinkRates {
  double bandwidth = 0;    // B/s of the bus, one direction, as a ring sees it
  double latency = 20e-6;  // seconds of an all-reduce of nothing among these devices
  double one_way = 0;      // B/s where all bytes go the same way; 0: as of the bus

  double in_one_direction() const { return one_way > 0 ? one_way : bandwidth; }
};

// What each link carries, one way, of a byte; `devices` > 1.
double share_of_link(CollectiveKind kind, double devices);

// Seconds over `devices`; 0 for one device.
double collective_seconds(CollectiveKind kind, double bytes, int64_t devices,
                          const LinkRates& link);

}  // namespace plimsoll
