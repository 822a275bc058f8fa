// --fail-if: by how much figures of an answer may grow.
#pragma once

#include <string>
#include <vector>

#include "estimator/app/report/difference.h"
#include "graph/base/diagnostic.h"

namespace plimsoll::cli {

// "peak>5%", spaces are free. E106 for a figure that has no limit, E119 for another form of it.
Result<std::vector<ChangeLimit>> parse_change_limits(const std::vector<std::string>& texts);

}  // namespace plimsoll::cli
