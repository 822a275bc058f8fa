// What a Hugging Face config sets of a family's parameters.
#pragma once

#include <string_view>

#include "graph/base/diagnostic.h"
#include "graph/config/parameters.h"
#include "graph/json/value.h"

namespace plimsoll {

// Values by parameter, as text. `family` and `common` are files of graph/builtin/families
// (family.h). E355 for every key that nothing reads, E356 for a value of another kind or a word
// that the family does not know.
Result<config::Settings> config_values(const JsonValue& config, std::string_view file_name,
                                       const JsonValue& family, const JsonValue& common);

}  // namespace plimsoll
