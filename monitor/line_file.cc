#include "monitor/line_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace plimsoll::monitor {
namespace {

tl::unexpected<Diagnostics> failed(const std::string& path, int why) {
  return error("E612", fmt::format("cannot write: {}", std::strerror(why)),
               {.file = path, .node = {}});
}

}  // namespace

Result<LineFile> LineFile::open(const std::string& path, Mode mode) {
  int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;
  if (mode == Mode::kNew) flags |= O_EXCL;
  const int descriptor = ::open(path.c_str(), flags, 0666);
  if (descriptor >= 0) {
    LineFile file(path, descriptor);
    struct stat there {};
    if (::fstat(descriptor, &there) != 0) return failed(path, errno);
    if (!S_ISREG(there.st_mode)) return file;  // a pipe, a device
    if (there.st_nlink > 1)
      return error("E612", "has a second name (a hard link), and both would change",
                   {.file = path, .node = {}}, "name another file");
    if (::ftruncate(descriptor, 0) != 0) return failed(path, errno);
    return file;
  }
  if (errno == EEXIST)
    return error("E610", "exists already", {.file = path, .node = {}},
                 "choose another name, or add --force");
  return failed(path, errno);
}

LineFile::LineFile(LineFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      failed_(other.failed_) {}

LineFile::~LineFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> LineFile::add(std::string_view lines) {
  while (!lines.empty() && !failed_) {
    const ssize_t written = ::write(descriptor_, lines.data(), lines.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      failed_ = true;
      return failed(path_, errno);
    }
    lines.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace plimsoll::monitor
