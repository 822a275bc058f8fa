// Which program and which data a result comes from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/json/fields.h"

namespace plimsoll {

#ifndef PLIMSOLL_VERSION
#error "the build defines PLIMSOLL_VERSION"
#endif
inline constexpr std::string_view kVersion = PLIMSOLL_VERSION;

// The commit it was built from, twelve digits; "unknown" outside a repository.
std::string_view commit();

// One folder of the built-in database.
struct DataVersion {
  std::string kind;  // "devices"
  int64_t files = 0;
  std::string digest;  // first twelve digits of the SHA-256 of its names and contents
};

inline void describe(Fields& f, DataVersion& v) {
  f("files", v.files, {.low = 1});
  f("digest", v.digest);
}

// In the order of their names. Reads all of the database: some tens of milliseconds.
Result<std::vector<DataVersion>> data_versions();

}  // namespace plimsoll
