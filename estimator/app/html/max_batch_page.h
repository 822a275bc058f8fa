// The largest batch as a page.
#pragma once

#include <string>

#include "estimator/app/search/largest_batch.h"

namespace plimsoll {

// `command` repeats it.
std::string max_batch_page(const LargestBatch& largest, const std::string& model,
                           const std::string& command);

}  // namespace plimsoll
