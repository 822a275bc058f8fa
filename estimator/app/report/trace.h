// A Trace in Chrome's trace format, for chrome://tracing, Perfetto and whatever else reads it: one
// track of launches per phase, one counter of live bytes by role.
#pragma once

#include <string>

#include "estimator/answer/trace.h"

namespace plimsoll {

std::string to_chrome_trace(const Trace& trace);

}  // namespace plimsoll
