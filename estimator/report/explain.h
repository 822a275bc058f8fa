// What `plimsoll explain` shows: a diagnostic code, or a node of a model.
#pragma once

#include <string>

#include "estimator/plan/node_report.h"
#include "estimator/report/explanation.h"

namespace plimsoll {

std::string to_text(const Explanation& explanation);
std::string to_text(const Explained& explained);
std::string to_json(const Explanation& explanation);
std::string to_json(const Explained& explained);

}  // namespace plimsoll
