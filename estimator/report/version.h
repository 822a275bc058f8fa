// Which program and which data a result comes from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/json/writer.h"

namespace plimsoll {

#ifndef PLIMSOLL_VERSION
#error "the build defines PLIMSOLL_VERSION"
#endif
inline constexpr std::string_view kVersion = PLIMSOLL_VERSION;

// A document that has begun: its schema, the schema's version, and the program; its object is open.
JsonWriter begin_document(std::string_view schema,
                          JsonWriter::Layout layout = JsonWriter::Layout::kIndented);

// The commit it was built from, twelve digits; "unknown" outside a repository.
std::string_view commit();

// One folder of the built-in database.
struct DataVersion {
  std::string kind;  // "devices"
  int64_t files = 0;
  std::string digest;  // first twelve digits of the SHA-256 of its names and contents
};
// In the order of their names. Reads all of the database: some tens of milliseconds.
Result<std::vector<DataVersion>> data_versions();

}  // namespace plimsoll
