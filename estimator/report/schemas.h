// The JSON Schemas of what the program writes, embedded from estimator/schemas.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// "estimate" or "validate"; empty for another name.
std::string schema_text(std::string_view name);
// Names of all, sorted.
std::vector<std::string> schema_names();

}  // namespace plimsoll
