// --lengths NAME=N:SHARE,N:SHARE,...: how long batches are, and how many have each length.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "estimator/request/request.h"
#include "graph/base/diagnostic.h"

namespace plimsoll {

// The lengths of a dimension into `buckets`. A second dimension's stand in the same order as the
// first's: both belong to the same batches. Without shares all have the same one.
// E103 for a length or share that is no positive number, E114 for a dimension given twice, E115
// where two dimensions' lists do not pair or there are more than 256 lengths.
Result<void> add_lengths(const std::string& name, std::string_view text,
                         std::vector<LengthBucket>& buckets);

}  // namespace plimsoll
