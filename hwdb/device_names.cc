#include "hwdb/device_names.h"

#include <array>

#include "graph/base/text.h"

namespace plimsoll {
namespace {

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// Said of every card or of none: older drivers leave out "NVIDIA", people "GeForce".
constexpr std::array<std::string_view, 2> kSilent = {"nvidia", "geforce"};

}  // namespace

std::string device_key(std::string_view name) {
  std::string key, word;
  const auto end_word = [&] {
    if (word != kSilent[0] && word != kSilent[1]) key += word;
    word.clear();
  };
  for (const char given : name) {
    const char c = lower_case(given);
    if (is_word(c)) {
      word += c;
    } else {
      end_word();
    }
  }
  end_word();
  return key;
}

std::pair<std::string_view, std::string_view> split_mig(std::string_view name) {
  if (const size_t at = name.find(':'); at != name.npos)
    return {name.substr(0, at), name.substr(at + 1)};
  constexpr std::string_view kPart = " MIG ";
  if (const size_t at = name.find(kPart); at != name.npos)
    return {name.substr(0, at), name.substr(at + kPart.size())};
  return {name, {}};
}

SizedName split_size(std::string_view name) {
  std::string text = lower_case(name);
  for (const std::string_view unit : {"gib", "gb", "g"}) {
    if (!text.ends_with(unit)) continue;
    text.resize(text.size() - unit.size());
    while (!text.empty() && text.back() == ' ') text.pop_back();
    const size_t digits = text.find_last_not_of("0123456789");
    if (digits == text.npos || is_word(text[digits])) return {};
    const auto size = parse_number<int64_t>(std::string_view(text).substr(digits + 1));
    return size ? SizedName{text.substr(0, digits), *size} : SizedName();
  }
  return {};
}

std::string without_line(std::string_view name) {
  std::string plain = lower_case(name);
  for (const std::string_view line : {"nvidia", "tesla", "quadro", "geforce"}) {
    if (const size_t at = plain.find(line); at != plain.npos) plain.erase(at, line.size());
  }
  return plain;
}

bool is_device_file(std::string_view name) {
  return name.ends_with(".json") || name.find('/') != name.npos;
}

}  // namespace plimsoll
