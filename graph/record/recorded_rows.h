// RecordedRows: what a record's lists hold: rows of so many parts, numbers that name what stands in
// another list, names of a table. What is none of them is E281, in the file's faults.
#pragma once

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "graph/json/object.h"

namespace plimsoll {

class RecordedRows {
 public:
  explicit RecordedRows(JsonObject& file) : file_(file) {}

 protected:
  const JsonValue::List* row(const JsonValue& value, std::string_view key, size_t parts) {
    const JsonValue::List* const list = file_.list_in(value, key);
    if (list == nullptr || list->size() == parts) return list;
    file_.fail("E281", fmt::format("{} have {} parts each", key, parts), value);
    return nullptr;
  }

  std::optional<size_t> index(const JsonValue& value, std::string_view key, size_t count) {
    const auto at = file_.integer_in(value, key, {.low = 0});
    if (!at) return std::nullopt;
    if (static_cast<size_t>(*at) < count) return static_cast<size_t>(*at);
    file_.fail("E281", fmt::format("{} name number {}, of {}", key, *at, count), value);
    return std::nullopt;
  }

  template <class T, size_t N>
  std::optional<T> named(const JsonValue& value, std::string_view key,
                         const std::array<std::pair<std::string_view, T>, N>& names) {
    const auto text = file_.text_in(value, key);
    if (!text) return std::nullopt;
    for (const auto& [name, meaning] : names) {
      if (name == *text) return meaning;
    }
    file_.fail("E281", fmt::format("{} know no such name", key), value);
    return std::nullopt;
  }

  JsonObject& file_;
};

}  // namespace plimsoll
