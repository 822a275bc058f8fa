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

// Invisible or direction-changing: DEL and C1 controls, zero-width, bidi, line separators, BOM,
// tags, and the combining marks that pile up.
bool is_deceptive(uint32_t c) {
  return (c >= 0x7F && c < 0xA0) || (c >= 0x300 && c < 0x370) || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || c == 0xAD ||
         (c >= 0xE0000 && c <= 0xE0FFF);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = decode(text, i);
    if (c.value == '\n') {
      out += "\\n";
    } else if (!c.valid || c.value < 0x20) {
      out += fmt::format("\\x{:02x}", c.value);
    } else if (is_deceptive(c.value)) {
      out +=
          c.value > 0xFFFF ? fmt::format("\\U{:08x}", c.value) : fmt::format("\\u{:04x}", c.value);
    } else {
      out.append(text.substr(i, c.length));
    }
    i += c.length;
  }
  return out;
}

std::string shortened(std::string_view text, size_t columns) {
  constexpr std::string_view kEllipsis = "...";
  if (columns <= kEllipsis.size() || text.size() <= columns) return std::string(text);
  // Between characters: half of one is none.
  const auto inside = [&](size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80;
  };
  size_t head = (columns - kEllipsis.size()) / 2;
  size_t tail = text.size() - (columns - kEllipsis.size() - head);
  while (head > 0 && inside(head)) --head;
  while (tail < text.size() && inside(tail)) ++tail;
  return fmt::format("{}{}{}", text.substr(0, head), kEllipsis, text.substr(tail));
}

std::string shell_quoted(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";
  if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) return std::string(word);
  std::string inner;
  for (const char c : escaped(word) == word ? word : std::string_view()) {
    inner += c == '\'' ? R"('\'')" : std::string(1, c);
  }
  if (!inner.empty() || word.empty()) return "'" + inner + "'";
  for (size_t i = 0; i < word.size();) {
    const CodePoint c = decode(word, i);
    const std::string_view bytes = word.substr(i, c.length);
    if (bytes == "'" || bytes == "\\") {
      inner += "\\";
      inner += bytes;
    } else if (c.valid && escaped(bytes) == bytes) {
      inner += bytes;
    } else {
      // Byte by byte, and in octal, of which the shell takes three digits and no more.
      for (const char byte : bytes)
        inner += fmt::format("\\{:03o}", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    }
    i += c.length;
  }
  return "$'" + inner + "'";
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

std::string escaped_for_json(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = decode(text, i);
    if (!c.valid) {
      out += "\xEF\xBF\xBD";
    } else if (c.value == '"' || c.value == '\\') {
      out += '\\';
      out += text[i];
    } else if (c.value == '\n' || c.value == '\t' || c.value == '\r') {
      out += c.value == '\n' ? "\\n" : c.value == '\t' ? "\\t" : "\\r";
    } else if (c.value > 0xFFFF && is_deceptive(c.value)) {  // as a pair of surrogates
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((c.value - 0x10000) >> 10),
                         0xDC00 + ((c.value - 0x10000) & 0x3FF));
    } else if (c.value < 0x20 || c.value == '<' || is_deceptive(c.value)) {
      out += fmt::format("\\u{:04x}", c.value);
    } else {
      out.append(text.substr(i, c.length));
    }
    i += c.length;
  }
  return out;
}

}  // namespace plimsoll
