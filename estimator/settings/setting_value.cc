#include "estimator/settings/setting_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "estimator/settings/values.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/text.h"
#include "graph/base/try.h"

namespace plimsoll {

Result<int64_t> read_count(const SettingRow& row, std::string_view text) {
  return parse_count(setting(row.name), text, row.value.low, row.value.high);
}

Result<int64_t> read_size(const SettingRow& row, std::string_view text) {
  return parse_bytes(setting(row.name), text);
}

Result<size_t> read_word(const SettingRow& row, std::string_view text) {
  // Libraries' own words, "adamw_torch_fused", are those that records of their runs say.
  const auto meant = row.record.word ? row.record.word(lower_case(text)) : std::nullopt;
  return parse_word(setting(row.name), text, row.value.words(), meant.value_or(""));
}

Result<Entry> read_entry(const SettingRow& row, std::string_view text) {
  auto pair = TRY(parse_assignment(setting(row.name), text));
  return Entry{setting_entry(row.name, pair.first), pair.first, pair.second};
}

void write_size(JsonWriter& out, int64_t bytes) {
  constexpr std::array<std::string_view, 4> kUnits = {"B", "KiB", "MiB", "GiB"};
  size_t unit = 0;
  for (; bytes > 0 && bytes % 1024 == 0 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  out.string(fmt::format("{}{}", bytes, kUnits[unit]));
}

void write_list(JsonWriter& out, const std::vector<int64_t>& numbers, char separator) {
  out.string(fmt::format("{}", fmt::join(numbers, std::string_view(&separator, 1))));
}

std::string underscored(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '-', '_');
  return text;
}

std::string words_of(const SettingRow& row) {
  return row.value.words ? fmt::format("{}", fmt::join(row.value.words(), ", ")) : "";
}

}  // namespace plimsoll
