#include "estimator/app/cli/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "graph/base/try.h"

namespace plimsoll::cli {
namespace {

tl::unexpected<Diagnostics> exists(const std::string& path) {
  return error("E610", "exists; --force overwrites it", {.file = path, .node = {}});
}

}  // namespace

tl::unexpected<Diagnostics> OutputFile::failed(std::string_view what) const {
  return error("E612", std::string(what), {.file = path_, .node = {}});
}

Result<OutputFile> OutputFile::open(const std::string& path, bool force) {
  OutputFile file;
  file.path_ = path;
  file.force_ = force;
  struct stat there {};
  if (path == "-")
    return file.failed("names no file: standard output has the answer; ./- is a file of that name");
  const bool found = ::lstat(path.c_str(), &there) == 0;
  if (found && S_ISLNK(there.st_mode))
    return file.failed("is a symbolic link, which is not followed; name the file itself");
  if (found && !force) return exists(path);
  int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;  // nobody may ever read a pipe
  if (!found || S_ISREG(there.st_mode)) {
    file.beside_ = fmt::format("{}.{}.part", path, ::getpid());
    flags |= O_CREAT | O_EXCL;
  }
  const std::string& opened = file.beside_.empty() ? path : file.beside_;
  file.descriptor_ = ::open(opened.c_str(), flags, 0666);
  if (file.descriptor_ >= 0 && ::fcntl(file.descriptor_, F_SETFL, O_WRONLY) == 0) return file;
  const int why = errno;
  file.beside_.clear();  // not ours to remove
  return file.failed(fmt::format("cannot be written: {}", std::strerror(why)));
}

Result<void> OutputFile::open_if_named(const std::string& path, bool force,
                                       std::optional<OutputFile>& file) {
  if (path.empty()) return {};
  auto opened = TRY(open(path, force));
  file.emplace(std::move(opened));
  return {};
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      beside_(std::exchange(other.beside_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      force_(other.force_) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

Result<void> OutputFile::write(std::string_view text) {
  const auto cannot = [&] {
    return failed(fmt::format("cannot be written: {}", std::strerror(errno)));
  };
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor_, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return cannot();
    text.remove_prefix(static_cast<size_t>(n));
  }
  if (beside_.empty())
    return ::close(std::exchange(descriptor_, -1)) == 0 ? Result<void>() : cannot();
  // Else a power cut could leave an empty file under the right name.
  if (::fsync(descriptor_) != 0) return cannot();
  if (::close(std::exchange(descriptor_, -1)) != 0) return cannot();
  int moved = -1;
  if (!force_) {
    moved = ::renameat2(AT_FDCWD, beside_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE);
    if (moved != 0 && errno == EEXIST) return exists(path_);
  }
  // Not every file system knows how to refuse.
  if (moved != 0 && (force_ || errno == EINVAL || errno == ENOSYS))
    moved = ::rename(beside_.c_str(), path_.c_str());
  if (moved != 0) return cannot();
  beside_.clear();
  return {};
}

}  // namespace plimsoll::cli
