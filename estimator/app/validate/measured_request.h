// From a measured run to the request whose estimate is held against it.
#pragma once

#include <string>

#include "estimator/request/request.h"
#include "graph/base/diagnostic.h"
#include "hwdb/measured/run.h"

namespace plimsoll {

// The request of a run of a whole model; what the run does not say is as in `base`. The error is
// why there is none, in words: "optimizer 'lars' is not known".
tl::expected<Request, std::string> request_of(const MeasuredRun& run, const Request& base);

// The link a multi-GPU run or a collective used, from its card and number of machines: cards of one
// root in the machines of DeepBench, two sockets else.
std::string link_of(const MeasuredRun& run);

}  // namespace plimsoll
