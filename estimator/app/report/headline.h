// A verdict as answers begin with it.
#pragma once

#include <string_view>

#include "estimator/app/report/page.h"
#include "estimator/memory/verdict.h"

namespace plimsoll {

// "FITS", "MAY FIT", "DOES NOT FIT".
std::string_view headline(Verdict verdict);
Tone tone_of(Verdict verdict);

}  // namespace plimsoll
