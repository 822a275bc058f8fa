// One model on several GPUs as a page.
#pragma once

#include <span>
#include <string>

#include "estimator/answer/estimate.h"

namespace plimsoll {

// Of at least one estimate. The JSON inside is the list that compare prints, without layers, which
// are many, and says which estimates no other beats in both memory and throughput. `command`
// repeats it.
std::string compare_page(std::span<const Estimate> estimates, const std::string& command);

}  // namespace plimsoll
