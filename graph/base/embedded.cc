#include "graph/base/embedded.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>

namespace plimsoll {
namespace {

// Window bits for deflate alone, without a checksum (what is in the binary is not damaged by
// itself), and for gzip's format.
constexpr int kDeflate = -15;
constexpr int kGzip = 15 + 16;

// `expected` bytes, if the caller knows.
Result<std::string> inflate_bytes(std::string_view packed, int window_bits, size_t limit,
                                  size_t expected = 0) {
  if (packed.size() > std::numeric_limits<uInt>::max())
    return error("E807", "is larger than 4 GiB");
  z_stream stream{};
  if (inflateInit2(&stream, window_bits) != Z_OK) return error("E801", "out of memory");
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

}  // namespace

std::vector<std::string> EmbeddedFiles::names(std::string_view prefix) const {
  std::vector<std::string> found;
  for (const EmbeddedFile& file : files_) {
    if (file.name.starts_with(prefix)) found.emplace_back(file.name);
  }
  return found;
}

const EmbeddedFile* EmbeddedFiles::find(std::string_view name) const {
  const auto at = std::lower_bound(
      files_.begin(), files_.end(), name,
      [](const EmbeddedFile& file, std::string_view wanted) { return file.name < wanted; });
  return at != files_.end() && at->name == name ? &*at : nullptr;
}

Result<std::string> EmbeddedFiles::read(std::string_view name) const {
  const EmbeddedFile* file = find(name);
  if (!file) return error("E901", fmt::format("no embedded file '{}'", name));
  if (!file->deflated) return std::string(file->packed);
  return inflate_bytes(file->packed, kDeflate, file->size, file->size);
}

Result<std::string> gunzip(std::string_view packed, size_t limit) {
  return inflate_bytes(packed, kGzip, limit);
}

}  // namespace plimsoll
