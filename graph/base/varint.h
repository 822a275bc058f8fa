// A number of protobuf's wire format: base 128, low digits first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace plimsoll {

// How many of `bytes`, at most 10, the number takes; 0 where it does not end in them.
size_t decode_varint(std::span<const std::byte> bytes, uint64_t& value);

}  // namespace plimsoll
