// What differs between two answers, as a page.
#pragma once

#include <string>

#include "estimator/app/report/difference.h"

namespace plimsoll {

// `command` repeats it.
std::string difference_page(const AnswerDifference& difference, const std::string& command);

}  // namespace plimsoll
