// graph/base/varint.h where there is no libprotobuf. What exceeds 64 bits is dropped, as there.
#include "graph/base/varint.h"

namespace plimsoll {

size_t decode_varint(std::span<const std::byte> bytes, uint64_t& value) {
  value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = std::to_integer<uint64_t>(bytes[i]);
    value |= (byte & 0x7F) << (7 * i);
    if (byte < 0x80) return i + 1;
  }
  return 0;
}

}  // namespace plimsoll
