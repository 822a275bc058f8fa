#include "graph/base/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "graph/base/folder.h"
#include "graph/base/hash.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

Place at(const std::string& path) { return {.file = path, .node = {}}; }

std::string reason(int number) { return std::generic_category().message(number); }

// What lies in a folder that a user may have meant, for the help line.
std::string models_in(const std::string& folder) {
  constexpr size_t kShown = 5;
  constexpr size_t kLookedAt = 1000;
  std::vector<std::string> names;
  for (const std::string& name : names_in(folder, kLookedAt)) {
    if (name.ends_with(".onnx")) names.push_back(path_in(folder.empty() ? "." : folder, name));
  }
  if (names.empty()) return {};
  const bool more = names.size() > kShown;
  names.resize(std::min(names.size(), kShown));
  return fmt::format("there is {}{}", fmt::join(names, ", "), more ? ", ..." : "");
}

tl::unexpected<Diagnostics> cannot_open(const std::string& path, int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return error("E601", "no such file", at(path),
                   models_in(path.substr(0, path.rfind('/') + 1)));
    case EACCES:
    case EPERM:
      return error("E603", "permission denied", at(path));
    case ENXIO:  // a socket
      return error("E604", "not a regular file", at(path));
    default:
      return error("E606", "cannot be opened: " + reason(number), at(path));
  }
}

// read() until it has all or there is no more. -1 on failure.
ssize_t read_fully(int descriptor, std::byte* out, size_t size, int64_t offset) {
  size_t done = 0;
  while (done < size) {
    const ssize_t got = offset < 0 ? ::read(descriptor, out + done, size - done)
                                   : ::pread(descriptor, out + done, size - done,
                                             offset + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return static_cast<ssize_t>(done);
}

}  // namespace

Result<ByteSource> ByteSource::open(const std::string& path, const Limits& limits) {
  if (path == "-") return drain(STDIN_FILENO, "-", limits);
  ByteSource source;
  source.name_ = path;
  // Without O_NONBLOCK, opening a FIFO that nobody writes would wait for ever.
  source.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (source.descriptor_ < 0) return cannot_open(path, errno);
  struct stat status {};
  if (::fstat(source.descriptor_, &status) != 0) return cannot_open(path, errno);
  if (S_ISDIR(status.st_mode)) return error("E602", "is a directory", at(path), models_in(path));
  if (!S_ISREG(status.st_mode)) {
    return error("E604", "not a regular file", at(path), "'-' reads standard input");
  }
  const auto stamp = source.stamp();
  if (!stamp) return cannot_open(path, errno);
  source.opened_ = *stamp;
  source.size_ = stamp->size;
  return source;
}

Result<ByteSource> ByteSource::drain(int descriptor, std::string name, const Limits& limits) {
  constexpr size_t kPiece = size_t{1} << 16;
  std::vector<std::byte> bytes;
  for (;;) {
    const size_t before = bytes.size();
    bytes.resize(before + kPiece);
    const ssize_t got = read_fully(descriptor, bytes.data() + before, kPiece, -1);
    if (got < 0) return error("E606", "cannot be read: " + reason(errno), at(name));
    bytes.resize(before + static_cast<size_t>(got));
    if (std::cmp_greater(bytes.size(), limits.stdin_bytes)) {
      return over_limit(limits, "stdin", at(name));
    }
    if (static_cast<size_t>(got) < kPiece) return of(std::move(name), std::move(bytes));
  }
}

ByteSource ByteSource::of(std::string name, std::vector<std::byte> bytes) {
  ByteSource source;
  source.name_ = std::move(name);
  source.size_ = bytes.size();
  source.bytes_ = std::move(bytes);
  return source;
}

ByteSource::ByteSource(ByteSource&& other) noexcept
    : name_(std::move(other.name_)),
      size_(std::exchange(other.size_, 0)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      bytes_(std::move(other.bytes_)),
      opened_(other.opened_) {}

ByteSource& ByteSource::operator=(ByteSource&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(size_, other.size_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(bytes_, other.bytes_);
  std::swap(opened_, other.opened_);
  return *this;
}

ByteSource::~ByteSource() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<ByteSource::Stamp> ByteSource::stamp() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) return std::nullopt;
  return Stamp{static_cast<uint64_t>(status.st_size), status.st_mtim.tv_sec,
               status.st_mtim.tv_nsec};
}

tl::unexpected<Diagnostics> ByteSource::changed() const {
  const auto now = stamp();
  return error("E605",
               now && now->size != size_
                   ? fmt::format("changed while being read (size {} -> {})", size_, now->size)
                   : std::string("changed while being read"),
               at(name_));
}

Result<size_t> ByteSource::read(uint64_t offset, std::span<std::byte> out) const {
  if (offset >= size_) return size_t{0};
  const size_t wanted = static_cast<size_t>(std::min<uint64_t>(out.size(), size_ - offset));
  if (descriptor_ < 0) {
    if (wanted > 0) std::memcpy(out.data(), bytes_.data() + offset, wanted);
    return wanted;
  }
  const ssize_t got = read_fully(descriptor_, out.data(), wanted, static_cast<int64_t>(offset));
  if (got < 0) return error("E606", "cannot be read: " + reason(errno), at(name_));
  if (static_cast<size_t>(got) < wanted) return changed();
  return wanted;
}

Result<void> ByteSource::check_unchanged() const {
  if (descriptor_ < 0) return {};
  const auto now = stamp();
  if (!now || !(*now == opened_)) return changed();
  return {};
}

Result<std::optional<std::string>> sha256_of(const ByteSource& source, uint64_t largest) {
  if (source.size() > largest) return std::optional<std::string>();
  Sha256 hash;
  std::vector<std::byte> window(size_t{1} << 16);
  for (uint64_t offset = 0; offset < source.size();) {
    const auto got = TRY(source.read(offset, window));
    hash.update({window.data(), got});
    offset += got;
  }
  return std::optional<std::string>(hash.hex());
}

Result<std::string> whole_text(const ByteSource& source, const Limits& limits) {
  if (source.size() > static_cast<uint64_t>(limits.json))
    return over_limit(limits, "json", {.file = source.name(), .node = {}});
  std::string text(source.size(), '\0');
  auto read = TRY(source.read(0, std::as_writable_bytes(std::span(text))));
  text.resize(read);
  return text;
}

Result<std::string> read_text(const std::string& path, const Limits& limits) {
  const auto source = ByteSource::open(path, limits);
  return source ? whole_text(*source, limits) : tl::make_unexpected(source.error());
}

}  // namespace plimsoll
