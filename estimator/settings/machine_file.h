// --machine FILE: what was measured on one card, read into a request.
#pragma once

#include <string>

#include "estimator/request/request.h"
#include "graph/base/diagnostic.h"

namespace plimsoll {

// E3xx of the JSON reader, E6xx where it cannot be opened.
Result<void> take_machine(const std::string& file, PlatformRequest& into);

}  // namespace plimsoll
