// Hostile text stays text: one function per sink. Names in a model are attacker-controlled.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

// Control characters, bidi controls, zero-width characters and invalid UTF-8 become \x1b, \u202e;
// newlines \n. At most `columns` characters, with the middle cut out of longer text.
std::string escape_for_terminal(std::string_view text, size_t columns = 120);
// Valid UTF-8 with U+FFFD in place of what is not.
std::string to_valid_utf8(std::string_view text);

}  // namespace plimsoll
