#include "hwdb/entry.h"

#include <fmt/format.h>

#include "graph/base/escape.h"

namespace plimsoll {
namespace {

// Lower-case words joined by dashes.
bool is_id(std::string_view text) {
  return !text.empty() && text.front() != '-' && text.front() != '.' &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-") == text.npos;
}

}  // namespace

void read_identity(JsonObject& root, std::string_view schema, std::string_view stem,
                   std::string& id, std::vector<std::string>& aliases) {
  root.schema(schema, 1);
  id = root.required_string("id");
  aliases = root.optional_strings("aliases");
  const JsonValue* at = root.value().find("id");
  if (!at || !at->string()) return;
  std::vector<std::string> names = aliases;
  names.push_back(id);
  for (const std::string& name : names) {
    if (is_id(name)) continue;
    root.fail("E404",
              fmt::format("\"{}\" is not an id: lower-case letters, digits, '-' and '.'",
                          shortened(name, kQuotedColumns)),
              *at);
  }
  if (!stem.empty() && id != stem) {
    root.fail("E404",
              fmt::format("the file of \"{0}\" must be called {0}.json, not {1}.json",
                          shortened(id, kQuotedColumns), shortened(stem, kQuotedColumns)),
              *at);
  }
}

}  // namespace plimsoll
