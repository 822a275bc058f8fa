#include "graph/base/escape.h"

#include <fmt/format.h>

#include <cstdint>

namespace plimsoll {
namespace {

struct CodePoint {
  uint32_t value = 0;
  size_t length = 1;
  bool valid = false;
};

CodePoint decode(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const size_t length = lead >= 0xF0 && lead < 0xF5   ? 4
                        : lead >= 0xE0 && lead < 0xF0 ? 3
                        : lead >= 0xC2 && lead < 0xE0 ? 2
                                                      : 0;
  if (length == 0 || at + length > text.size()) return {lead, 1, false};
  uint32_t value = lead & (0xFFU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {lead, 1, false};
    value = (value << 6) | (byte(i) & 0x3FU);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kSmallest[length] || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) {
    return {lead, 1, false};
  }
  return {value, length, true};
}

// Invisible or direction-changing: C1 controls, zero-width, bidi, line separators, BOM, tags,
// and the combining marks that pile up.
bool is_deceptive(uint32_t c) {
  return (c >= 0x7F && c < 0xA0) || (c >= 0x300 && c < 0x370) || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || c == 0xAD ||
         (c >= 0xE0000 && c <= 0xE0FFF);
}

}  // namespace

std::string escape_for_terminal(std::string_view text, size_t columns) {
  constexpr size_t kEllipsis = 3;
  std::string shortened;
  if (columns > kEllipsis && text.size() > columns) {
    const size_t head = (columns - kEllipsis) / 2;
    const size_t tail = columns - kEllipsis - head;
    shortened = fmt::format("{}...{}", text.substr(0, head), text.substr(text.size() - tail));
    text = shortened;
  }
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = decode(text, i);
    if (!c.valid || c.value < 0x20 || c.value == 0x7F) {
      if (c.value == '\n') {
        out += "\\n";
      } else {
        out += fmt::format("\\x{:02x}", c.value);
      }
    } else if (is_deceptive(c.value)) {
      out += fmt::format("\\u{:04x}", c.value);
    } else {
      out.append(text.substr(i, c.length));
    }
    i += c.length;
  }
  return out;
}

std::string to_valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = decode(text, i);
    if (c.valid) {
      out.append(text.substr(i, c.length));
    } else {
      out += "\xEF\xBF\xBD";
    }
    i += c.length;
  }
  return out;
}

}  // namespace plimsoll
