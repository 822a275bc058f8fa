// The TOML reader: what people write by hand for training programs, as the tree that JSON gives.
// Dates and times are text.
#pragma once

#include <string_view>

#include "graph/base/diagnostic.h"
#include "graph/base/limits.h"
#include "graph/json/value.h"

namespace plimsoll {

// The table of a UTF-8 text, its members in the file's order.
// E359 not TOML 1.0; E312 a number that is not finite; E806 and E807 as JSON's.
Result<JsonValue> read_toml(std::string_view text, std::string_view file_name,
                            const Limits& limits = {});

}  // namespace plimsoll
