// What graph/wasm/standard.zig does.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// How many bytes `packed` held, at most `room`, now in `out`; -1 where they are damaged.
ptrdiff_t plimsoll_inflate(const char* packed, size_t size, bool gzip, char* out, size_t room);

// SHA-256, 32 bytes.
void plimsoll_sha256(const std::byte* bytes, size_t size, uint8_t* out);
}
