// Results that estimate wrote: --json, or the page of --html, which holds the same.
#pragma once

#include <optional>
#include <string>

#include "graph/base/diagnostic.h"
#include "graph/json/value.h"

namespace plimsoll::cli {

// Nothing where the file is something else, or none. E3xx for a result that cannot be read, E6xx.
Result<std::optional<JsonValue>> read_result(const std::string& path);

}  // namespace plimsoll::cli
