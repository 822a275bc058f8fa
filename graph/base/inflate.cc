#include "graph/base/inflate.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

namespace plimsoll {
namespace {

// zlib's window bits: -15 for deflate alone, 16 more for gzip's format.
int window_bits(Packing packing) { return packing == Packing::kGzip ? 15 + 16 : -15; }

}  // namespace

Result<std::string> inflated(std::string_view packed, Packing packing, size_t limit,
                             size_t expected) {
  if (packed.size() > std::numeric_limits<uInt>::max())
    return error("E807", "is larger than 4 GiB");
  z_stream stream{};
  if (inflateInit2(&stream, window_bits(packing)) != Z_OK) return error("E801", "out of memory");
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  constexpr size_t kPiece = 16384;
  std::string out;
  int status = Z_OK;
  while (status == Z_OK && out.size() <= limit) {
    const size_t before = out.size();
    out.resize(std::max(expected, before + kPiece));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    stream.avail_out = static_cast<uInt>(out.size() - before);
    status = inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (out.size() > limit) {
    return error("E807", fmt::format("inflates to more than {} bytes", limit));
  }
  if (status != Z_STREAM_END) return error("E301", "the compressed bytes are damaged");
  return out;
}

}  // namespace plimsoll
