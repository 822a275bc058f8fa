// A file that the user names to be written: whole or not at all, and nothing else than that file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "graph/base/diagnostic.h"

namespace plimsoll::cli {

//   auto file = OutputFile::open(path, force);   // before the work
//   if (!file) return report(file.error());
//   if (auto done = file->write(text); !done) ...
class OutputFile {
 public:
  // E610 where there is such a file and `force` is not given; E612 where nothing can be written
  // there, and where it is a symbolic link, which is never followed. What is not a plain file (a
  // pipe, a device) is written to as it is; else the text goes into a file beside it until write()
  // is done, which the destructor removes.
  static Result<OutputFile> open(const std::string& path, bool force);
  // The same into `file`, where a path is given.
  static Result<void> open_if_named(const std::string& path, bool force,
                                    std::optional<OutputFile>& file);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  // All of it, on the disk, then in the place of what was there. E610 where a file has appeared
  // there meanwhile, E612.
  Result<void> write(std::string_view text);

 private:
  OutputFile() = default;
  tl::unexpected<Diagnostics> failed(std::string_view what) const;

  std::string path_, beside_;  // `beside_` is empty where it is written in place
  int descriptor_ = -1;
  bool force_ = false;
};

}  // namespace plimsoll::cli
