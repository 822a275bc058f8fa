#include "hwdb/measured/cell_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <variant>

#include "graph/base/escape.h"
#include "graph/base/text.h"
#include "hwdb/measured/keys.h"
#include "hwdb/measured/loose_keys.h"

namespace plimsoll {
namespace {

JsonValue number_value(std::string_view text, const Place& place) {
  JsonNumber number;
  number.text = text;
  number.whole = text.find_first_of(".eE") == text.npos;
  std::from_chars(text.data(), text.data() + text.size(), number.real);
  return {place.line, place.column, number};
}

bool is_number(std::string_view text) {
  return parse_number<double>(text) && text.find_first_of("nNiI") == text.npos;
}

// "12.5 MiB" in a column that says its unit is 12.5.
std::string_view without_unit(std::string_view column, std::string_view cell) {
  const size_t blank = cell.find(' ');
  if (blank == cell.npos) return cell;
  const std::string_view unit = cell.substr(blank + 1);
  const bool same = (column.ends_with("_mb") && (unit == "MiB" || unit == "MB")) ||
                    (column.ends_with("_ms") && unit == "ms") ||
                    (column.ends_with("_pct") && unit == "%");
  return same ? cell.substr(0, blank) : cell;
}

tl::unexpected<Diagnostics> bad_cell(std::string_view column, std::string_view cell,
                                     std::string_view wanted, Place place) {
  const bool comma =
      cell.find(',') != cell.npos && cell.find_first_not_of("-0123456789,.") == cell.npos;
  return error("E512",
               fmt::format("{} must be {}, found \"{}\"", column, wanted, shortened(cell, 60)),
               std::move(place), comma ? "write a decimal point, not a comma" : "");
}

Result<std::optional<JsonValue>> list_value(std::string_view column, std::string_view cell,
                                            const Place& place) {
  JsonValue::List list;
  for (std::string_view rest = cell; !rest.empty();) {
    const size_t end = std::min(rest.find_first_of("x "), rest.size());
    const std::string_view piece = rest.substr(0, end);
    if (!is_number(piece)) return bad_cell(column, cell, "a list like 3x224x224", place);
    list.push_back(number_value(piece, place));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return JsonValue{place.line, place.column, std::move(list)};
}

}  // namespace

Result<std::optional<JsonValue>> cell_value(std::string_view column, const std::string& cell,
                                            Place place) {
  if (cell.empty()) return std::nullopt;
  const auto text = [&] { return JsonValue{place.line, place.column, cell}; };
  if (is_loose_key(column)) {
    if (is_number(cell)) return number_value(cell, place);
    if (cell == "true" || cell == "false") {
      return JsonValue{place.line, place.column, cell == "true"};
    }
    const bool list = cell.find_first_not_of("0123456789x ") == cell.npos;
    return list ? list_value(column, cell, place) : text();
  }
  const MeasuredKey* key = find_measured_key(column);
  const bool flag = key && std::holds_alternative<std::optional<bool> MeasuredRun::*>(key->member);
  if (flag) {
    if (cell == "true" || cell == "false")
      return JsonValue{place.line, place.column, cell == "true"};
    return bad_cell(column, cell, "true or false", place);
  }
  if (!key || std::holds_alternative<std::string MeasuredRun::*>(key->member)) return text();
  if (std::holds_alternative<std::vector<int64_t> MeasuredRun::*>(key->member)) {
    return list_value(column, cell, place);
  }
  if (std::holds_alternative<std::vector<std::string> MeasuredRun::*>(key->member)) {
    return JsonValue{place.line, place.column, JsonValue::List{text()}};
  }
  const std::string_view number = without_unit(column, cell);
  if (!is_number(number)) return bad_cell(column, cell, "a number", place);
  return number_value(number, place);
}

}  // namespace plimsoll
