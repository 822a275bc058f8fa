// A JSON text as a tree that remembers where everything stood, so that a complaint about a value
// can point at its line. Numbers keep the text they were written with: 2^63 is never a double.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/base/diagnostic.h"

namespace plimsoll {

class JsonValue;
struct JsonMember;

struct JsonNumber {
  std::string text;
  double real = 0;
  bool whole = false;  // written without fraction and exponent
};

class JsonValue {
 public:
  using List = std::vector<JsonValue>;
  using Members = std::vector<JsonMember>;  // in the file's order, no key twice

  int line = 0;
  int column = 0;  // 1-based, in bytes
  std::variant<std::monostate, bool, JsonNumber, std::string, List, Members> data;

  bool is_null() const { return std::holds_alternative<std::monostate>(data); }
  // Null, or nothing, where the value is of another kind.
  const std::string* string() const { return std::get_if<std::string>(&data); }
  const JsonNumber* number() const { return std::get_if<JsonNumber>(&data); }
  const List* list() const { return std::get_if<List>(&data); }
  const Members* members() const { return std::get_if<Members>(&data); }
  std::optional<bool> boolean() const;
  // Whole numbers that fit 64 bits; 64.0 is not one.
  std::optional<int64_t> integer() const;
  // Any number.
  std::optional<double> real() const;
  // The member of an object, or null. Linear in the number of keys.
  const JsonValue* find(std::string_view key) const;
  // "string \"64\"", "number 6.4e1", "null", "a list": for messages; hostile text is escaped.
  std::string description() const;
};

struct JsonMember {
  std::string key;
  int line = 0;  // of the key
  int column = 0;
  JsonValue value;
};

// E303 for the first key that is there already.
std::optional<Diagnostic> repeated_key(const JsonValue::Members& members, std::string_view file);

}  // namespace plimsoll
