// An estimate as a page: the answer and its pictures, every figure in tables, the JSON itself.
#pragma once

#include <string>

#include "estimator/answer/estimate.h"

namespace plimsoll {

// Of an estimate whose request asks for detail. `command` repeats it.
std::string estimate_page(const Estimate& estimate, const std::string& command);

}  // namespace plimsoll
