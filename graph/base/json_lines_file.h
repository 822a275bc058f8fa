// JsonLinesFile: records, a line of JSON each, that outlive whoever writes them: appended one by
// one, each in one write, so that a process that is killed leaves whole lines and at most one torn
// end, which the next to open the file cuts off.
//
//   auto file = JsonLinesFile::open("answers.jsonl");
//   for (const std::string& line : file->lines()) ...   // what was there
//   file->append(record);
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"

namespace plimsoll {

class JsonLinesFile {
 public:
  // Made where there is none; locked until it is closed. E612 where it cannot be opened, read or
  // cut, E706 where another process writes it.
  static Result<JsonLinesFile> open(const std::string& path);
  JsonLinesFile(JsonLinesFile&& other) noexcept;
  JsonLinesFile& operator=(JsonLinesFile&&) = delete;
  ~JsonLinesFile();

  const std::vector<std::string>& lines() const { return lines_; }  // as they were when opened
  size_t torn_bytes() const { return torn_bytes_; }                 // that were cut off

  // E612 where the disk is full; the line is then torn.
  Result<void> append(std::string_view line);

 private:
  explicit JsonLinesFile(std::string path) : path_(std::move(path)) {}
  tl::unexpected<Diagnostics> failed(std::string_view what) const;
  Result<void> read();

  std::string path_;
  int descriptor_ = -1;
  std::vector<std::string> lines_;
  size_t torn_bytes_ = 0;
};

}  // namespace plimsoll
