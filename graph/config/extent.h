// An extent as a config writes it: a whole number, or an expression over names (expression.h).
#pragma once

#include "graph/config/expression.h"
#include "graph/json/object.h"

namespace plimsoll::config {

inline constexpr int64_t kMostExtent = int64_t{1} << 48;  // one dim, see the table of limits

// The extent that `value` says, for the key `key` of `object`, where the faults go: E311 another
// kind, E312 a value at the defaults outside the range, E343 to E346 and E232 of the expression.
// 64.0 is taken with W301. 1 after a fault.
Dim read_extent(const JsonValue& value, std::string_view key, IntegerRange range,
                const Environment& environment, Binder& binder, JsonObject& object);

}  // namespace plimsoll::config
