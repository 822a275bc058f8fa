#include "graph/base/hash.h"

#include <string_view>

namespace plimsoll {

std::string Sha256::hex() {
  constexpr size_t kBytes = 32;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * kBytes);
  for (const char c : digest()) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex();
}

}  // namespace plimsoll
