// graph/base/inflate.h where there is no zlib.
#include "graph/base/inflate.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/wasm/standard.h"

namespace plimsoll {
namespace {

// What gzip's last four bytes say of what was packed, modulo 2^32 (RFC 1952, ISIZE).
size_t announced_size(std::string_view packed) {
  constexpr size_t kTrailer = 4;
  size_t size = 0;
  for (size_t i = 0; i < std::min(kTrailer, packed.size()); ++i)
    size = size << 8 | static_cast<unsigned char>(packed[packed.size() - 1 - i]);
  return size;
}

}  // namespace

Result<std::string> inflated(std::string_view packed, Packing packing, size_t limit,
                             size_t expected) {
  const size_t size = packing == Packing::kGzip ? announced_size(packed) : expected;
  if (size > limit) return error("E807", fmt::format("inflates to more than {} bytes", limit));
  std::string out(size, '\0');
  const ptrdiff_t got = plimsoll_inflate(packed.data(), packed.size(), packing == Packing::kGzip,
                                         out.data(), out.size());
  if (got < 0 || static_cast<size_t>(got) != size)
    return error("E301", "the compressed bytes are damaged");
  return out;
}

}  // namespace plimsoll
