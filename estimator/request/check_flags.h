// Whether the flags of a request make sense on its platform.
#pragma once

#include "estimator/request/platform.h"
#include "graph/base/diagnostic.h"

namespace plimsoll {

// E116 for flags that the framework or the device does not have, or that contradict each other;
// E112 for processes that load for a framework without such; E162 for modules loaded lazily by a
// CUDA that cannot; E163 for a version that nobody released.
Result<void> check_flags(const Request& request, const Platform& platform);

// W518 for each version asked for that is newer than those known.
Diagnostics newer_versions(const Request& request, const Platform& platform);

}  // namespace plimsoll
