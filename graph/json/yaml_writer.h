// A value as YAML, in blocks: what read_yaml() reads back as the same value.
#pragma once

#include <string>

#include "graph/json/value.h"

namespace plimsoll {

// Lists of words and numbers on a line. Ends with a newline.
std::string to_yaml(const JsonValue& value);

}  // namespace plimsoll
