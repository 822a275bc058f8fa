#include "estimator/request/platform.h"

#include <algorithm>

namespace plimsoll {
namespace {

// Of what is free beside a context of some hundred MiB, whose part of the share is neglected.
int64_t left_to_system(const FrameworkProfile& framework, int64_t free) {
  if (framework.system_reserve.value == 0) return 0;
  const double share = framework.system_reserve_share * static_cast<double>(free);
  return std::min(free, std::max(framework.system_reserve.value, static_cast<int64_t>(share)));
}

}  // namespace

int64_t memory_bytes(const Platform& platform, const Request& request) {
  return request.memory_bytes.value_or(platform.device.memory_reported.value);
}

int64_t usable_bytes(const Platform& platform, const Request& request) {
  const int64_t free =
      memory_bytes(platform, request) - request.reserve_bytes - request.display_bytes;
  return std::max<int64_t>(0,
                           free - left_to_system(platform.framework, std::max<int64_t>(0, free)));
}

}  // namespace plimsoll
