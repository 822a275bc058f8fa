#include "graph/base/json_lines_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace plimsoll {

tl::unexpected<Diagnostics> JsonLinesFile::failed(std::string_view what) const {
  return error("E612", fmt::format("{} {}: {}", what, path_, std::strerror(errno)));
}

Result<JsonLinesFile> JsonLinesFile::open(const std::string& path) {
  JsonLinesFile file(path);
  file.descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file.descriptor_ < 0) return file.failed("cannot open");
  if (::flock(file.descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return error("E706", fmt::format("another process writes {}", path), {},
                   "wait for it, or name another file");
    return file.failed("cannot lock");
  }
  if (auto read = file.read(); !read) return tl::make_unexpected(read.error());
  return file;
}

JsonLinesFile::JsonLinesFile(JsonLinesFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      lines_(std::move(other.lines_)),
      torn_bytes_(other.torn_bytes_) {}

JsonLinesFile::~JsonLinesFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> JsonLinesFile::read() {
  std::array<char, 1 << 16> piece{};
  std::string rest;
  off_t whole = 0;  // bytes of whole lines
  while (true) {
    const ssize_t got = ::read(descriptor_, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("cannot read");
    if (got == 0) break;
    rest.append(piece.data(), static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end = 0; (end = rest.find('\n', begin)) != rest.npos; begin = end + 1)
      lines_.push_back(rest.substr(begin, end - begin));
    whole += static_cast<off_t>(begin);
    rest.erase(0, begin);
  }
  torn_bytes_ = rest.size();
  if (torn_bytes_ > 0 && ::ftruncate(descriptor_, whole) != 0) return failed("cannot cut");
  return {};
}

Result<void> JsonLinesFile::append(std::string_view line) {
  std::string text(line);
  text += '\n';
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = ::write(descriptor_, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failed("cannot write");
    written += static_cast<size_t>(n);
  }
  return {};
}

}  // namespace plimsoll
