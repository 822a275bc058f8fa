#include "estimator/app/report/spelling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "graph/base/escape.h"
#include "graph/base/setting.h"

namespace plimsoll {
namespace {

std::string as_flag(const Setting& s) {
  if (!s.key) return fmt::format("--{}{}{}", s.name, s.value.empty() ? "" : " ", s.value);
  if (s.value.empty()) return fmt::format("--{} {}", s.name, *s.key);
  return fmt::format("--{} {}={}", s.name, shell_quoted(*s.key), s.value);
}

std::string quoted(std::string_view text) { return fmt::format("\"{}\"", escaped_for_json(text)); }

// A number, what is quoted already and words to be replaced, as they are; else a string.
std::string literal(std::string_view value) {
  static constexpr std::array<std::string_view, 4> kToFillIn = {"N", "SIZE", "GLOB", "ID"};
  const bool number = value.find_first_not_of("0123456789") == value.npos;
  const bool to_fill_in = std::ranges::find(kToFillIn, value) != kToFillIn.end();
  return number || to_fill_in || value.starts_with('"') ? std::string(value) : quoted(value);
}

std::string as_keyword(const Setting& s) {
  std::string name = s.name == "from" ? "from_" : s.name;  // the language's own word
  std::ranges::replace(name, '-', '_');
  if (!s.key) return fmt::format("{}={}", name, s.value.empty() ? "" : literal(s.value));
  if (s.value.empty()) return fmt::format("{}[{}]", name, quoted(*s.key));
  return fmt::format("{}={{{}: {}}}", name, quoted(*s.key), literal(s.value));
}

std::string as_pair(const Setting& s) {
  if (!s.key && s.value.empty()) return quoted(s.name);
  const std::string key = s.key ? *s.key + (s.value.empty() ? "" : "=") : "";
  return fmt::format("{{{}, {}}}", quoted(s.name), quoted(key + s.value));
}

}  // namespace

std::string spelled(std::string_view text, Spelling spelling) {
  switch (spelling) {
    case Spelling::kKeyword:
      return with_settings(text, as_keyword);
    case Spelling::kPair:
      return with_settings(text, as_pair);
    case Spelling::kFlag:
      break;
  }
  return with_settings(text, as_flag);
}

Diagnostic spelled(Diagnostic diagnostic, Spelling spelling) {
  diagnostic.message = spelled(diagnostic.message, spelling);
  diagnostic.help = spelled(diagnostic.help, spelling);
  return diagnostic;
}

}  // namespace plimsoll
