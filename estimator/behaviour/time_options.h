// How a framework runs and times its kernels on a platform: resolved once from its profile and from
// what is asked.
#pragma once

#include "estimator/kernels/time_options.h"
#include "estimator/request/platform.h"
#include "estimator/request/request.h"

namespace plimsoll {

// `policy`: how algorithms are chosen (LibraryBehaviour::algorithm).
TimeOptions time_options(const Platform& platform, const KernelRequest& asked, const Recipe& recipe,
                         AlgorithmPolicy policy);

}  // namespace plimsoll
