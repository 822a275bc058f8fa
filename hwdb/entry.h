// What all files of the database have in common: schema, version, id, aliases.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "graph/json/object.h"
#include "graph/json/reader.h"

namespace plimsoll {

// Consumes "schema", "version", "id" and "aliases". E404 where an id is malformed or is not the
// file's name; an empty `stem` is any.
void read_identity(JsonObject& root, std::string_view schema, std::string_view stem,
                   std::string& id, std::vector<std::string>& aliases);

// Reads a file into an Entry that has id, aliases and warnings; `fields` takes the rest.
template <class Entry, class Fields>
Result<Entry> read_entry(std::string_view schema, std::string_view text, std::string_view file,
                         std::string_view stem, Fields fields) {
  const Result<JsonValue> value = read_json(text, file);
  if (!value) return tl::make_unexpected(value.error());
  Entry entry;
  Diagnostics faults;
  JsonObject root(*value, file, faults, true);
  read_identity(root, schema, stem, entry.id, entry.aliases);
  if (has_error(faults)) return tl::make_unexpected(std::move(faults));  // of another kind
  fields(root, entry);
  root.finish();
  if (has_error(faults)) return tl::make_unexpected(std::move(faults));
  entry.warnings = std::move(faults);
  return entry;
}

}  // namespace plimsoll
