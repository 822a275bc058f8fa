// What training programs, trackers and people call what measured runs have a key for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "graph/base/diagnostic.h"
#include "graph/json/value.h"

namespace plimsoll {

// A name, and what of its value becomes the key's.
struct OtherName {
  enum class Value : uint8_t { kAsIs, kScaled, kInverse, kIfTrue, kHub, kImage, kUnfinished };

  std::string_view name, key;
  Value value = Value::kAsIs;
  double factor = 1;           // kScaled: value x factor; kInverse: factor / value
  std::string_view if_true{};  // kIfTrue
};

// Of names of one key the first says most.
std::span<const OtherName> other_names();

// The key's value, as text; empty where it says nothing.
std::string key_value(const OtherName& name, const std::string& value);

// A record whose members have keys of their own in place of other names; nothing where it has none
// of these. `renamed`: key by name. E515 where two of its members say two values of one key, E512
// where a value is not of the key's type.
std::optional<JsonValue> with_measured_keys(const JsonValue& record, std::string_view file,
                                            std::map<std::string, std::string>& renamed,
                                            Diagnostics& faults);

}  // namespace plimsoll
