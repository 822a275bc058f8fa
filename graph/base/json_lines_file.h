// JsonLinesFile: records, a line of JSON each, that outlive whoever writes them: appended one by
// one, each in one write, so that a process that is killed leaves whole lines and at most one torn
// end, which the next to append cuts off.
//
//   auto file = JsonLinesFile::open("answers.jsonl", {.begins = {R"({"kind":)"}});
//   for (const std::string& line : file->lines()) ...   // what was there
//   file->append(record);
//
// A file of somebody else's is never written to: neither through a link, nor where its end is torn
// and begins as none of our lines; and opening alone changes nothing, so that a reader who does not
// know the lines leaves them as they are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"

namespace plimsoll {

// The lines of one kind of file.
struct JsonLines {
  std::vector<std::string> begins;  // how its lines begin, one way or another
  bool kept = true;                 // lines() has all of them, else the first alone
};

class JsonLinesFile {
 public:
  // Made where there is none; locked until it is closed. E612 where it cannot be opened or read,
  // for a symbolic link, a file that has a second name, and what is no plain file; E321 where the
  // first line or a torn end begins as no line of ours; E706 where another process writes it.
  static Result<JsonLinesFile> open(const std::string& path, JsonLines form);
  JsonLinesFile(JsonLinesFile&& other) noexcept;
  JsonLinesFile& operator=(JsonLinesFile&&) = delete;
  ~JsonLinesFile();

  const std::vector<std::string>& lines() const { return lines_; }  // as they were when opened
  // Of a torn end, which is there until it is cut off.
  size_t torn_bytes() const { return torn_bytes_; }

  // Of whoever goes on with the file, when its lines have been read and are his; append() does it
  // too. E612 where it cannot be.
  Result<void> cut_torn_end();

  // `line` without its last newline. E612 where the disk is full; the line is then torn.
  Result<void> append(std::string_view line);

 private:
  JsonLinesFile(std::string path, JsonLines form)
      : path_(std::move(path)), form_(std::move(form)) {}
  tl::unexpected<Diagnostics> failed(std::string_view what) const;
  tl::unexpected<Diagnostics> refused(std::string_view why) const;
  Result<void> check_plain() const;
  Result<void> read();
  Result<void> check_ours(std::string_view torn) const;

  std::string path_;
  JsonLines form_;
  int descriptor_ = -1;
  std::vector<std::string> lines_;
  size_t whole_bytes_ = 0, torn_bytes_ = 0;
  int count_ = 0;  // of whole lines
  bool cut_ = false;
};

}  // namespace plimsoll
