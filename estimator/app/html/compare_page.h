// Models on several GPUs as a page.
#pragma once

#include <string>

#include "estimator/app/report/comparison.h"

namespace plimsoll {

// Of at least one estimate. The JSON inside is the list that compare prints, without layers, which
// are many, and says which estimates no other of the model beats in both memory and throughput.
// `command` repeats it.
std::string compare_page(const Comparison& comparison, const std::string& command);

}  // namespace plimsoll
