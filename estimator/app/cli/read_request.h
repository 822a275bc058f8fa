// What the shared flags ask for, read strictly.
#pragma once

#include "estimator/app/cli/shared_flags.h"

namespace plimsoll::cli {

// E1xx for the first flag that is not as it should be; a verb's own ones are only looked at for
// being given twice.
Result<Request> to_request(const SharedFlags& flags);

}  // namespace plimsoll::cli
