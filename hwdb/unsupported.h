// Accelerators that people ask for and the database has none of, each with the reason
// (hwdb/unsupported.json): refused by what they are, not as a misspelt name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "graph/base/diagnostic.h"

namespace plimsoll {

class Hwdb;

struct UnsupportedKind {
  std::string what;  // "AMD GPUs"
  std::string why;
};

// The kind that a word of `name` gives away, or nothing. Errors as the JSON reader, where a user's
// folder has a broken file.
Result<std::optional<UnsupportedKind>> find_unsupported(const Hwdb& hwdb, std::string_view name);

}  // namespace plimsoll
