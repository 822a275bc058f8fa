// What deflate packed, unpacked.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "graph/base/diagnostic.h"

namespace plimsoll {

// Deflate alone, without a checksum, or in gzip's format, with one.
enum class Packing { kDeflate, kGzip };

// `expected` bytes, if the caller knows. E301 where the bytes are damaged, E807 where they would
// exceed `limit`.
Result<std::string> inflated(std::string_view packed, Packing packing, size_t limit,
                             size_t expected = 0);

}  // namespace plimsoll
