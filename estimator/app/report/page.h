// Page: what text is laid out for: its width, and whether meaning has a colour there.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace plimsoll {

struct Page {
  static constexpr size_t kEndless = std::numeric_limits<size_t>::max();
  size_t width = 80;  // in columns; kEndless: nothing is broken, cut or left out
  bool coloured = false;
};

enum class Tone : uint8_t { kPlain, kGood, kDoubtful, kBad };

// Columns that valid UTF-8 takes on a terminal, a character each.
size_t columns_of(std::string_view text);

// The text in the colour that its tone has on this page (ECMA-48, SGR 31 to 33).
std::string toned(std::string_view text, Tone tone, const Page& page);

// One line, broken between words where the page ends, and ended; what follows the first line is
// indented so far. Spaces stay as they are elsewhere, and a word longer than the page stays whole:
// paths and commands are pasted.
std::string wrapped(std::string_view line, const Page& page, size_t indent = 2);

}  // namespace plimsoll
