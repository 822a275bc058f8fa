#include "estimator/app/report/page.h"

#include <algorithm>

#include "graph/base/text.h"

namespace plimsoll {

size_t columns_of(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string toned(std::string_view text, Tone tone, const Page& page) {
  if (!page.coloured || tone == Tone::kPlain) return std::string(text);
  const std::string_view colour = tone == Tone::kGood       ? "\x1b[32m"
                                  : tone == Tone::kDoubtful ? "\x1b[33m"
                                                            : "\x1b[31m";
  return std::string(colour) + std::string(text) + "\x1b[0m";
}

std::string wrapped(std::string_view line, const Page& page, size_t indent) {
  std::string text;
  size_t at = 0;          // columns of the current line
  bool has_word = false;  // on it
  for (bool first = true; !line.empty(); first = false) {
    const std::string_view word = take_part(line, ' ');
    const size_t columns = columns_of(word);
    if (has_word && at + 1 + columns > page.width) {
      text.erase(text.find_last_not_of(' ') + 1);
      text += "\n" + std::string(indent, ' ');
      at = indent;
    } else if (!first) {
      text += ' ';
      ++at;
    }
    text += word;
    at += columns;
    has_word = has_word || columns > 0;
  }
  return text + "\n";
}

}  // namespace plimsoll
