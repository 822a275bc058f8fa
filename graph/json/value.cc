#include "graph/json/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "graph/base/escape.h"
#include "graph/base/text.h"

namespace plimsoll {

std::optional<bool> JsonValue::boolean() const {
  const bool* value = std::get_if<bool>(&data);
  return value ? std::optional<bool>(*value) : std::nullopt;
}

std::optional<int64_t> JsonValue::integer() const {
  const JsonNumber* value = number();
  return value && value->whole ? parse_number<int64_t>(value->text) : std::nullopt;
}

std::optional<double> JsonValue::real() const {
  const JsonNumber* value = number();
  return value ? std::optional<double>(value->real) : std::nullopt;
}

const JsonValue* JsonValue::find(std::string_view key) const {
  if (const Members* all = members()) {
    for (const JsonMember& member : *all) {
      if (member.key == key) return &member.value;
    }
  }
  return nullptr;
}

std::string JsonValue::description() const {
  if (is_null()) return "null";
  if (const auto value = boolean()) return *value ? "true" : "false";
  if (const JsonNumber* value = number()) return shortened(value->text, kQuotedColumns);
  if (const std::string* value = string()) {
    return fmt::format("string \"{}\"", shortened(*value, kQuotedColumns));
  }
  return list() ? "a list" : "an object";
}

std::optional<Diagnostic> repeated_key(const JsonValue::Members& members, std::string_view file) {
  std::vector<size_t> order(members.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return members[a].key < members[b].key; });
  size_t second = members.size();
  size_t first = 0;
  for (size_t i = 1; i < order.size(); ++i) {
    if (members[order[i]].key == members[order[i - 1]].key && order[i] < second) {
      second = order[i];
      first = order[i - 1];
    }
  }
  if (second == members.size()) return std::nullopt;
  return Diagnostic{
      "E303",
      Severity::kError,
      fmt::format("key \"{}\" given twice, first at line {}",
                  shortened(members[second].key, kQuotedColumns), members[first].line),
      Place{std::string(file), members[second].line, members[second].column, {}},
      {}};
}

}  // namespace plimsoll
