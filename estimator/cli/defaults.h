// Defaults of one's own: PLIMSOLL_PRECISION=amp-bf16 in the environment, or precision: amp-bf16 in
// ./plimsoll.yaml, for every shared flag of one value and for gpu. A flag wins over the
// environment, that over the file, that over what is built in.
#pragma once

#include "estimator/cli/shared_flags.h"

namespace plimsoll::cli {

// As to_request(), with the defaults found; Request::defaults names those that were used. E3xx for
// a plimsoll.yaml that cannot be read, E304 for a key that is no such flag, E6xx for one that
// cannot be opened.
Result<Request> request_with_defaults(const SharedFlags& flags);

}  // namespace plimsoll::cli
