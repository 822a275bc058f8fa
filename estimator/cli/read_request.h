// What the shared flags ask for, read strictly.
#pragma once

#include <set>
#include <string>

#include "estimator/cli/shared_flags.h"
#include "estimator/request/request.h"

namespace plimsoll::cli {

// E1xx for the first flag that is not as it should be.
Result<Request> to_request(const SharedFlags& flags);

// Names of the flags that were written.
std::set<std::string, std::less<>> given_in(const SharedFlags& flags);

}  // namespace plimsoll::cli
