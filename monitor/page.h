// A watched run as a page: peaks and how it ended, memory and load over time with the predicted
// range and the phases, tables, notes.
#pragma once

#include <string>

#include "monitor/moments.h"
#include "monitor/summary.h"

namespace plimsoll::monitor {

// `command` repeats the watch, as a shell reads it. Below 1.5 MB whatever was watched for however
// long: of many phases it has the longest.
std::string to_page(const Summary& summary, const Moments& moments, const std::string& command);

}  // namespace plimsoll::monitor
