// Files of families, read and put together: one that is "like" another has that one's layers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/json/value.h"

namespace plimsoll {

inline constexpr std::string_view kCommonFamilyKeys = "keys.json";  // of all families

// Names of all files of families.
std::vector<std::string> family_file_names();
// One of them; its keys and defaults stand before those of the family that it is like.
Result<JsonValue> read_family_file(std::string_view name);

// The text of a member; empty where it has none.
std::string text_at(const JsonValue& object, std::string_view key);
// The member of an object, to be changed; null where there is none.
JsonValue* json_member(JsonValue& object, std::string_view key);
// Members of `from` stand before those of `into`.
void put_over(JsonValue& into, const JsonValue& from);

}  // namespace plimsoll
