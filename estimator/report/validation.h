// A validation as JSON (contract) and as text: summaries, then what is out of tolerance.
#pragma once

#include <map>
#include <string>

#include "estimator/plan/validate.h"

namespace plimsoll {

std::string to_json(const Validation& validation);
std::string to_text(const Validation& validation);

// Which tolerance a quantity falls under: "memory" or "time".
std::string_view tolerance_class(std::string_view quantity);

}  // namespace plimsoll
