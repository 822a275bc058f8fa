// "20ms", "1s", "0.5s", "2min": a time with its unit.
#pragma once

#include <string_view>

#include "graph/base/diagnostic.h"

namespace plimsoll::monitor {

// Nanoseconds, within [low, high]. E103 for anything else; a number without a unit is one.
Result<int64_t> parse_duration(std::string_view flag, std::string_view text, int64_t low,
                               int64_t high);

}  // namespace plimsoll::monitor
