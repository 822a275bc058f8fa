// Hostile text stays text. Names in a model are attacker-controlled, and the library's messages and
// answers carry them as they are. They are made harmless once, where they are written: reports and
// diagnostics for people through escaped_format(), JSON through JsonWriter.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace plimsoll {

// Control characters, bidi controls, zero-width characters and invalid UTF-8 become \x1b, \u202e;
// newlines \n: one line, whatever it was. What is escaped already stays as it is.
std::string escaped(std::string_view text);

// fmt::format for people's eyes: the format is ours, every text among the arguments is escaped.
template <class T>
using Escaped = std::conditional_t<std::convertible_to<const T&, std::string_view>, std::string, T>;
template <class T>
decltype(auto) escaped_argument(const T& argument) {
  if constexpr (std::convertible_to<const T&, std::string_view>) {
    return escaped(argument);
  } else {
    return (argument);
  }
}
template <class... Args>
std::string escaped_format(fmt::format_string<Escaped<Args>...> format, const Args&... args) {
  // Evaluated there: what it refers to lives until the text is made.
  return fmt::vformat(format, fmt::make_format_args(escaped_argument(args)...));
}

// At most `columns` characters, with the middle cut out of longer text.
std::string shortened(std::string_view text, size_t columns = 120);

// The columns of a word of the user's that a message repeats.
inline constexpr size_t kQuotedColumns = 60;

// A word of a command to paste, as a POSIX shell reads it back: plain words as they are, 'a b',
// and $'\x1b' (bash, zsh, ksh) where there is something to escape.
std::string shell_quoted(std::string_view word);

// Valid UTF-8 with U+FFFD in place of what is not.
std::string to_valid_utf8(std::string_view text);

// What stands between the quotes of a JSON string: the same text to who parses it, with U+FFFD in
// place of what is no UTF-8, and harmless to who looks at it on a terminal or embeds it in HTML.
std::string escaped_for_json(std::string_view text);

}  // namespace plimsoll
