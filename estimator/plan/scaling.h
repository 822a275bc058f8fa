// The same step on 1, 2, ... GPUs: what more of them bring, and where their exchange takes over.
#pragma once

#include <cstdint>
#include <vector>

#include "estimator/request/request.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

struct ScalingPoint {
  int64_t gpus = 1;  // of all machines
  int64_t step_ns = 0, communication_ns = 0;
  double samples_per_second = 0;
  double efficiency = 1;          // of as many times one GPU's throughput
  bool exchange_leads = false;    // more than half of the step waits for the exchange
  bool beyond_link_data = false;  // nobody measured the link with so many
};

// Each number of GPUs per machine from `first` to `last`, those of --nodes machines each. Cost: an
// estimate a point.
Result<std::vector<ScalingPoint>> scaling(const Request& request, const Hwdb& hwdb, int64_t first,
                                          int64_t last);

}  // namespace plimsoll
