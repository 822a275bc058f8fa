// lengths: batches whose samples differ in length, as sentences and recordings do. The time of a
// step is the mean over the batches of an epoch; memory has to hold the longest.
#pragma once

#include <string>
#include <vector>

#include "estimator/request/request.h"

namespace plimsoll {

// "source 20, target 22"
std::string listed(const Binding& sizes);

// The request whose every dimension has the size that --longest or --lengths at most give it.
Request at_longest(Request request);
// The request at one of its --lengths, which alone it keeps: a fault of the name is the flag's.
Request at_bucket(Request request, const LengthBucket& bucket);

}  // namespace plimsoll
