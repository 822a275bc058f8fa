#include "graph/base/setting.h"

namespace plimsoll {
namespace {

// As ASCII means them: a text within a text begins, its units, its end, and the next byte escaped.
constexpr char kStart = '\x02', kUnit = '\x1f', kEnd = '\x03', kEscape = '\x10';

// A key is a name in a model, and may hold any byte.
std::string framed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == kStart || c == kUnit || c == kEnd || c == kEscape) out += kEscape;
    out += c;
  }
  return out;
}

// From behind kStart; nothing where no setting is there. `at` goes behind its end.
std::optional<Setting> read(std::string_view text, size_t& at) {
  std::string units[3];
  size_t unit = 0;
  for (size_t i = at; i < text.size(); ++i) {
    const char c = text[i];
    if (c == kEscape && i + 1 < text.size()) {
      units[unit] += text[++i];
    } else if (c == kUnit && unit < 2) {
      ++unit;
    } else if (c == kEnd) {
      at = i + 1;
      Setting one{.name = units[0], .key = {}, .value = units[unit]};
      if (unit == 0) one.value.clear();
      if (unit == 2) one.key = units[1];
      return one;
    } else if (c == kStart || c == kUnit) {
      break;
    } else {
      units[unit] += c;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string setting(std::string_view name, std::string_view value) {
  return kStart + std::string(name) + kUnit + framed(value) + kEnd;
}

std::string setting_entry(std::string_view name, std::string_view key, std::string_view value) {
  return kStart + std::string(name) + kUnit + framed(key) + kUnit + framed(value) + kEnd;
}

std::string with_settings(std::string_view text,
                          const std::function<std::string(const Setting&)>& spell) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t start = text.find(kStart, at);
    out += text.substr(at, start - at);
    if (start == text.npos) break;
    at = start + 1;
    if (const auto one = read(text, at)) {
      out += spell(*one);
    } else {
      out += kStart;
    }
  }
  return out;
}

}  // namespace plimsoll
