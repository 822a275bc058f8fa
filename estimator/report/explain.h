// What `plimsoll explain` shows: a diagnostic code, or a node of a model.
#pragma once

#include <string>

#include "estimator/explanation.h"
#include "estimator/node_report.h"

namespace plimsoll {

std::string to_text(const Explanation& explanation);
std::string to_text(const Explained& explained);
std::string to_json(const Explanation& explanation);
std::string to_json(const Explained& explained);

}  // namespace plimsoll
