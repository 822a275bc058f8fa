// A CSV cell as the value that its column's key wants.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "graph/base/diagnostic.h"
#include "graph/json/value.h"

namespace plimsoll {

// Nothing for an empty or missing cell. E512 where the text is not of the key's type.
Result<std::optional<JsonValue>> cell_value(std::string_view column, const std::string& cell,
                                            Place place);

}  // namespace plimsoll
