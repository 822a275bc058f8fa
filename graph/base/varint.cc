#include "graph/base/varint.h"

#include <google/protobuf/io/coded_stream.h>

namespace plimsoll {

size_t decode_varint(std::span<const std::byte> bytes, uint64_t& value) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  return stream.ReadVarint64(&value) ? static_cast<size_t>(stream.CurrentPosition()) : 0;
}

}  // namespace plimsoll
