// --tolerance NAME=VALUE of the verbs that hold predictions against measurements.
#pragma once

#include <string>
#include <vector>

#include "estimator/app/validate/tolerance.h"
#include "graph/base/diagnostic.h"

namespace plimsoll::cli {

// "time=15%", "time=2ms", "memory=100MiB", "workspace=1MiB". E105 and E106 for what is no class,
// E114 for a class given twice, E119 for a value without its unit.
Result<Tolerances> parse_tolerances(const std::vector<std::string>& texts);

}  // namespace plimsoll::cli
