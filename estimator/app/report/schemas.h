// The JSON Schemas of what the program reads and writes: embedded from estimator/schemas, or made
// of the tables that the readers go by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// "estimate" or "measured-run"; empty for another name.
std::string schema_text(std::string_view name);
// Names of all, sorted.
std::vector<std::string> schema_names();

}  // namespace plimsoll
