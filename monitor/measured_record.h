// A watched run as a measured run: the file that `plimsoll validate` reads.
#pragma once

#include <string>

#include "estimator/request/request.h"
#include "monitor/summary.h"

namespace plimsoll::monitor {

// One record of kind `memory`: the request, `nvidia_smi_mb` (of the process) or `device_used_mb`
// (of the whole card) where a card told, and `host_mb`; MiB. A flag that was not given is left out:
// `validate` has the same defaults.
std::string to_measured(const Request& request, const Summary& summary);

}  // namespace plimsoll::monitor
