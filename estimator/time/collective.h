// Collectives: exchange of gradients between devices.
//   ring all-reduce: latency(n) + 2 (n - 1) / n * bytes / bus bandwidth
#pragma once

#include <cstdint>

namespace plimsoll {

struct LinkRates {
  double bandwidth = 0;    // B/s of the bus, one direction, as a ring sees it
  double latency = 20e-6;  // seconds of an all-reduce of nothing among these devices
  double overlap = .5;     // share of the backward pass behind which the exchange hides
};

// Seconds of one all-reduce over `devices`; 0 for one device.
double all_reduce_seconds(double bytes, int64_t devices, const LinkRates& link);

}  // namespace plimsoll
