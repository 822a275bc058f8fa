// text: what readers of text share: its parts, its ends, its numbers.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace plimsoll {

// What stands before the first separator, or all of it; `rest` is then what stands behind.
//
//   while (!rest.empty()) use(take_part(rest, '\n'));
std::string_view take_part(std::string_view& rest, char separator);

// "a", "" and "b" of "a,,b".
std::vector<std::string_view> split(std::string_view text, char separator);

// Without blanks, tabs and line ends before and behind.
std::string_view trimmed(std::string_view text);

// ASCII letters in lower case.
constexpr char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
std::string lower_case(std::string_view text);

// The number that all of the text is, as std::from_chars() reads it; nothing for any other text.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, number);
  return fault == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

}  // namespace plimsoll
