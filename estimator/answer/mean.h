// The mean of estimates at several lengths, as one estimate.
#pragma once

#include <vector>

#include "estimator/answer/estimate.h"
#include "estimator/request/lengths.h"

namespace plimsoll {

// `estimates` hold the times at `buckets`, in their order: at least one, shares above 0. The one
// whose step is nearest the mean, with its time made the mean, weighted by shares: rates and
// utilisations are those of the whole. Its kernels and layers are that one's, and it says so.
Estimate mean_over(std::vector<Estimate> estimates, const std::vector<LengthBucket>& buckets);

}  // namespace plimsoll
