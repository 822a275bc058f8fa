// A watched run as a measured run: the file that `plimsoll validate` reads.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "estimator/request/request.h"
#include "monitor/summary.h"

namespace plimsoll::monitor {

// The run as the user described it.
struct RunDescription {
  Request request;
  // Words of the flags of one value, by name without dashes, as they were given.
  std::map<std::string, std::string, std::less<>> words;
};

// One record of kind `memory`: the request, `nvidia_smi_mb` (of the process) or `device_used_mb`
// (of the whole card) where a card told, and `host_mb`; MiB. A flag that was not given is left out:
// `validate` has the same defaults.
std::string to_measured(const RunDescription& run, const Summary& summary);

// Flags of the request that the form has no key for, with their dashes: `validate` will ask without
// them.
std::vector<std::string> unsaid_flags(const RunDescription& run);

}  // namespace plimsoll::monitor
