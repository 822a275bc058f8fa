// The platform that a request names.
#pragma once

#include <string>

#include "estimator/request/platform.h"

namespace plimsoll {

// E140, E142, E143 and E144 for names nobody knows, E103 for what is no version, E161 for settings
// that the allocator does not take; check_flags(). `device_name` is one of request.devices.
Result<Platform> find_platform(const Hwdb& hwdb, const Request& request,
                               const std::string& device_name);

}  // namespace plimsoll
