#include "graph/base/json_lines_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "graph/base/escape.h"
#include "graph/base/try.h"

namespace plimsoll {

tl::unexpected<Diagnostics> JsonLinesFile::failed(std::string_view what) const {
  return error("E612", fmt::format("{} {}: {}", what, path_, std::strerror(errno)));
}

tl::unexpected<Diagnostics> JsonLinesFile::refused(std::string_view why) const {
  return error("E612", std::string(why), {.file = path_, .node = {}});
}

// A link leads to a file that its owner may not think of here.
Result<void> JsonLinesFile::check_plain() const {
  struct stat about {};
  if (::fstat(descriptor_, &about) != 0) return failed("cannot look at");
  if (!S_ISREG(about.st_mode))
    return refused("is not a regular file; records can only be appended to one");
  if (about.st_nlink > 1)
    return refused("has a second name (a hard link), and both would change; copy it first");
  return {};
}

Result<JsonLinesFile> JsonLinesFile::open(const std::string& path, JsonLines form) {
  JsonLinesFile file(path, std::move(form));
  if (path == "-")
    return file.refused(
        "names no file: standard output has the answer; ./- is a file of that name");
  constexpr int kFlags =
      O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  file.descriptor_ = ::open(path.c_str(), kFlags, 0644);
  if (file.descriptor_ < 0) {
    if (errno == ELOOP)
      return file.refused("is a symbolic link, which is not followed; name the file itself");
    return file.failed("cannot open");
  }
  TRY(file.check_plain());
  if (::flock(file.descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return error("E706", fmt::format("another process writes {}", path), {},
                   "wait for it, or name another file");
    return file.failed("cannot lock");
  }
  TRY(file.read());
  return file;
}

JsonLinesFile::JsonLinesFile(JsonLinesFile&& other) noexcept
    : path_(std::move(other.path_)),
      form_(std::move(other.form_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      lines_(std::move(other.lines_)),
      whole_bytes_(other.whole_bytes_),
      torn_bytes_(other.torn_bytes_),
      count_(other.count_),
      cut_(other.cut_) {}

JsonLinesFile::~JsonLinesFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> JsonLinesFile::read() {
  std::array<char, 1 << 16> piece{};
  std::string rest;
  while (true) {
    const ssize_t got = ::read(descriptor_, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("cannot read");
    if (got == 0) break;
    rest.append(piece.data(), static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end = 0; (end = rest.find('\n', begin)) != rest.npos; begin = end + 1) {
      if (form_.kept || count_ == 0) lines_.push_back(rest.substr(begin, end - begin));
      ++count_;
    }
    whole_bytes_ += begin;
    rest.erase(0, begin);
  }
  torn_bytes_ = rest.size();
  return check_ours(rest);
}

// The first line, and the end that was torn off one.
Result<void> JsonLinesFile::check_ours(std::string_view torn) const {
  const auto refuse = [&](std::string_view line, int number) {
    return error(
        "E321", fmt::format("this program did not write the line '{}'", shortened(line, 60)),
        {.file = path_, .line = number, .node = {}}, "it is left as it is; name another file");
  };
  const auto begins = [&](std::string_view line, bool whole) {
    return std::ranges::any_of(form_.begins, [&](std::string_view known) {
      return line.starts_with(known) || (!whole && known.starts_with(line));
    });
  };
  if (!lines_.empty() && !begins(lines_.front(), true)) return refuse(lines_.front(), 1);
  if (!torn.empty() && !begins(torn, false)) return refuse(torn, count_ + 1);
  return {};
}

Result<void> JsonLinesFile::cut_torn_end() {
  if (torn_bytes_ == 0 || cut_) return {};
  if (::ftruncate(descriptor_, static_cast<off_t>(whole_bytes_)) != 0) return failed("cannot cut");
  cut_ = true;
  return {};
}

Result<void> JsonLinesFile::append(std::string_view line) {
  if (auto done = cut_torn_end(); !done) return done;
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
