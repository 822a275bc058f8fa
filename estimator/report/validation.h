// A validation as JSON (contract) and as text: run by run, in sums, and whether the gate passed.
#pragma once

#include <string>

#include "estimator/plan/tolerance.h"
#include "estimator/plan/validate.h"

namespace plimsoll {

std::string to_json(const Validation& validation, const Tolerances& tolerances, const Gate& gate);
// The last line begins with PASSED or FAILED.
std::string to_text(const Validation& validation, const Tolerances& tolerances, const Gate& gate);

}  // namespace plimsoll
