// Kinds of settings' values, each by the member of Request that it fills: type, reading and JSON
// follow from it.
#pragma once

#include <array>
#include <type_traits>
#include <utility>

#include "estimator/settings/setting_row.h"
#include "graph/base/try.h"

namespace plimsoll {

// request.*first.*second: a member of Request, or of a part of it.
template <auto first, auto... rest, class Object>
auto& member_of(Object& object) {
  if constexpr (sizeof...(rest) == 0) {
    return object.*first;
  } else {
    return member_of<rest...>(object.*first);
  }
}
template <auto... path>
using MemberType = std::remove_reference_t<decltype(member_of<path...>(std::declval<Request&>()))>;

template <class T>
struct ValueOf {
  using Type = T;
};
template <class T>
struct ValueOf<std::optional<T>> {
  using Type = T;
};

// What the templates below have in common.
Result<int64_t> read_count(const SettingRow& row, std::string_view text);
Result<int64_t> read_size(const SettingRow& row, std::string_view text);
Result<size_t> read_word(const SettingRow& row, std::string_view text);
// The value of a NAME=VALUE, and its name.
struct Entry {
  std::string setting, name, value;  // `setting`: as messages have it
};
Result<Entry> read_entry(const SettingRow& row, std::string_view text);

inline void write_json(JsonWriter& out, bool value) { out.boolean(value); }
inline void write_json(JsonWriter& out, int64_t value) { out.integer(value); }
inline void write_json(JsonWriter& out, const std::string& value) { out.string_or_null(value); }
// "4GiB": as flags take it, exactly.
void write_size(JsonWriter& out, int64_t bytes);
// Extents "1x3x224"; numbers that shapes are made of "1,64,-1".
void write_list(JsonWriter& out, const std::vector<int64_t>& numbers, char separator);
inline void write_json(JsonWriter& out, const std::vector<int64_t>& numbers) {
  write_list(out, numbers, ',');
}
template <class T>
void write_json(JsonWriter& out, const std::optional<T>& value) {
  if (value) {
    write_json(out, *value);
  } else {
    out.null();
  }
}

// `on`: what the member becomes where the switch is given.
template <auto... path>
constexpr SettingValue on_off_switch(bool on = true) {
  SettingValue value{.form = SettingValue::Form::kSwitch, .type = SettingValue::Type::kBoolean};
  if (on) {
    value.read = [](const SettingRow&, std::string_view text, Request& into) -> Result<void> {
      member_of<path...>(into) = text != "off";
      return {};
    };
    value.write = [](JsonWriter& out, const Request& from) {
      out.boolean(member_of<path...>(from));
    };
  } else {
    value.read = [](const SettingRow&, std::string_view text, Request& into) -> Result<void> {
      member_of<path...>(into) = text == "off";
      return {};
    };
    value.write = [](JsonWriter& out, const Request& from) {
      out.boolean(!member_of<path...>(from));
    };
  }
  return value;
}

template <auto... path>
constexpr SettingValue count_value(int64_t low, int64_t high) {
  return {.type = SettingValue::Type::kCount,
          .placeholder = "N",
          .low = low,
          .high = high,
          .read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
            const auto count = TRY(read_count(row, text));
            member_of<path...>(into) = count;
            return {};
          },
          .write = [](JsonWriter& out,
                      const Request& from) { write_json(out, member_of<path...>(from)); }};
}

template <auto... path>
constexpr SettingValue size_value() {
  return {.type = SettingValue::Type::kSize,
          .placeholder = "SIZE",
          .read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
            const auto bytes = TRY(read_size(row, text));
            member_of<path...>(into) = bytes;
            return {};
          },
          .write =
              [](JsonWriter& out, const Request& from) {
                const std::optional<int64_t> bytes = member_of<path...>(from);
                if (bytes) {
                  write_size(out, *bytes);
                } else {
                  out.null();
                }
              }};
}

template <auto... path>
constexpr SettingValue text_value(const char* placeholder,
                                  SettingValue::Type type = SettingValue::Type::kText) {
  return {.type = type,
          .placeholder = placeholder,
          .read = [](const SettingRow&, std::string_view text, Request& into) -> Result<void> {
            member_of<path...>(into) = std::string(text);
            return {};
          },
          .write = [](JsonWriter& out,
                      const Request& from) { write_json(out, member_of<path...>(from)); }};
}

// Enumerators by their words, in their order; `first` is the first word's.
template <const auto& list, size_t first, auto... path>
constexpr SettingValue word_value(const char* placeholder) {
  using Member = MemberType<path...>;
  using Value = typename ValueOf<Member>::Type;
  return {.type = SettingValue::Type::kWord,
          .placeholder = placeholder,
          .words = [] { return std::vector<std::string>(list.begin(), list.end()); },
          .read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
            const auto at = TRY(read_word(row, text));
            member_of<path...>(into) = static_cast<Value>(first + at);
            return {};
          },
          .write =
              [](JsonWriter& out, const Request& from) {
                const std::optional<Value> value = member_of<path...>(from);
                if (!value || static_cast<size_t>(*value) < first) {
                  out.null();
                } else {
                  out.string(list[static_cast<size_t>(*value) - first]);
                }
              }};
}

inline constexpr std::array<std::string_view, 2> kOffOn = {"off", "on"};
// "on" or "off", and where nothing is asked what the framework does.
template <auto... path>
constexpr SettingValue on_off_value() {
  SettingValue value = word_value<kOffOn, 0, path...>("on|off");
  value.type = SettingValue::Type::kBoolean;
  value.write = [](JsonWriter& out, const Request& from) {
    write_json(out, member_of<path...>(from));
  };
  return value;
}

// A row of a table, by its name.
template <auto rows, auto... path>
constexpr SettingValue row_value(const char* placeholder) {
  return {.type = SettingValue::Type::kWord,
          .placeholder = placeholder,
          .words =
              [] {
                std::vector<std::string> names;
                for (const auto& each : rows()) names.emplace_back(each.name);
                return names;
              },
          .many = true,
          .read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
            const auto at = TRY(read_word(row, text));
            member_of<path...>(into) = &rows()[at];
            return {};
          },
          .write = [](JsonWriter& out,
                      const Request& from) { out.string(member_of<path...>(from)->name); }};
}

// Entries of a map, each value read by `parse`: Result<mapped>(setting, text).
template <auto parse, auto... path>
constexpr SettingValue entries_value(const char* placeholder, SettingValue::Type type) {
  return {.form = SettingValue::Form::kEntries,
          .type = type,
          .placeholder = placeholder,
          .read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
            const auto entry = TRY(read_entry(row, text));
            auto value = TRY(parse(entry.setting, entry.value));
            member_of<path...>(into)[entry.name] = std::move(value);
            return {};
          },
          .write =
              [](JsonWriter& out, const Request& from) {
                out.begin_object();
                for (const auto& [name, value] : member_of<path...>(from)) {
                  out.key(name);
                  write_json(out, value);
                }
                out.end_object();
              },
          .names =
              [](const Request& from) {
                std::vector<std::string> names;
                for (const auto& [name, value] : member_of<path...>(from)) names.push_back(name);
                return names;
              }};
}

}  // namespace plimsoll
