#include "graph/json/yaml_writer.h"

#include <algorithm>
#include <cctype>

#include "graph/base/text.h"
#include "graph/json/writer.h"

namespace plimsoll {
namespace {

// Text that reads back as itself without quotes; YAML 1.1's switches are quoted for other readers.
bool is_plain(const std::string& text) {
  static constexpr std::string_view kInside = "_-./:*";
  if (text.empty() || !(std::isalpha(static_cast<unsigned char>(text[0])) != 0 || text[0] == '_'))
    return false;
  const bool known = std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || kInside.find(static_cast<char>(c)) != kInside.npos;
  });
  const std::string lower = lower_case(text);
  const auto is = [&](auto... words) { return ((lower == words) || ...); };
  return known && text.back() != ':' && text.find(": ") == text.npos &&
         !is("null", "true", "false", "yes", "no", "on", "off", "y", "n");
}

std::string scalar(const JsonValue& value) {
  if (const std::string* text = value.string()) return is_plain(*text) ? *text : json_string(*text);
  if (const JsonNumber* number = value.number()) return number->text;
  if (const auto truth = value.boolean()) return *truth ? "true" : "false";
  return "null";
}

bool is_short(const JsonValue& value) {
  if (const JsonValue::List* list = value.list())
    return std::ranges::none_of(*list, [](const JsonValue& v) { return v.list() || v.members(); });
  return !value.members() || value.members()->empty();
}

std::string on_a_line(const JsonValue& value) {
  if (value.members()) return "{}";
  const JsonValue::List* list = value.list();
  if (!list) return scalar(value);
  std::string text;
  for (const JsonValue& one : *list) text += (text.empty() ? "" : ", ") + scalar(one);
  return "[" + text + "]";
}

std::string block(const JsonValue& value, const std::string& indent) {
  if (is_short(value)) return indent + on_a_line(value) + "\n";
  std::string text;
  const auto add = [&](const std::string& head, const JsonValue& inner) {
    text += indent + head;
    text += is_short(inner) ? " " + on_a_line(inner) + "\n" : "\n" + block(inner, indent + "  ");
  };
  if (const JsonValue::List* list = value.list()) {
    for (const JsonValue& one : *list) add("-", one);
    return text;
  }
  for (const JsonMember& member : *value.members())
    add((is_plain(member.key) ? member.key : json_string(member.key)) + ":", member.value);
  return text;
}

}  // namespace

std::string to_yaml(const JsonValue& value) { return block(value, ""); }

}  // namespace plimsoll
