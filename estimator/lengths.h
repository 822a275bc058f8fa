// lengths: batches whose samples differ in length, as sentences and recordings do. The time of a
// step is the mean over the batches of an epoch; memory has to hold the longest.
#pragma once

#include <string>
#include <vector>

#include "estimator/estimate.h"
#include "estimator/request.h"

namespace plimsoll {

// "source 20, target 22"
std::string listed(const Binding& sizes);

// The request whose every dimension has the size that --longest or --lengths at most give it.
Request at_longest(Request request);
// The request at one of its --lengths, which alone it keeps: a fault of the name is the flag's.
Request at_bucket(Request request, const LengthBucket& bucket);

// `estimates` hold the times at `buckets`, in their order: at least one, shares above 0. The one
// whose step is nearest the mean, with its time made the mean, weighted by shares: rates and
// utilisations are those of the whole. Its kernels and layers are that one's, and it says so.
Estimate mean_over(std::vector<Estimate> estimates, const std::vector<LengthBucket>& buckets);

}  // namespace plimsoll
