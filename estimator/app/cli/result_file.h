// Results that estimate wrote: --json, or the page of --html, which holds the same.
#pragma once

#include <optional>
#include <string>

#include "estimator/app/cli/shared_flags.h"
#include "graph/base/diagnostic.h"
#include "graph/json/value.h"

namespace plimsoll::cli {

// Nothing where the file is something else, or none. E3xx for a result that cannot be read, E6xx.
Result<std::optional<JsonValue>> read_result(const std::string& path);

// What an answer was asked, beside what `flags` say, which win: into them. E6xx for a file that
// cannot be read, E3xx at its place for what is no answer of estimate, or asks for what there is
// not (settings_of_answer()).
Result<void> ask_again(const std::string& path, SharedFlags& flags);

}  // namespace plimsoll::cli
