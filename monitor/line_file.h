// A new file to which text is added as it comes: each piece in one write, so that what is there
// after a crash is whole lines.
#pragma once

#include <string>
#include <string_view>

#include "graph/base/diagnostic.h"

namespace plimsoll::monitor {

class LineFile {
 public:
  enum class Mode : uint8_t { kNew, kReplace };
  // E610 where there is such a file and the mode is kNew, E612 where it cannot be written, for a
  // symbolic link, which is never followed, and for a file that has a second name.
  static Result<LineFile> open(const std::string& path, Mode mode);
  LineFile(LineFile&& other) noexcept;
  LineFile& operator=(LineFile&&) = delete;
  ~LineFile();

  // E612 once; after that nothing is written, and nothing is said.
  Result<void> add(std::string_view lines);

 private:
  LineFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;
  bool failed_ = false;
};

}  // namespace plimsoll::monitor
