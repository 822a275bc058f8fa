// The file that a sweep's records are appended to as they come, and that a later sweep goes on
// with.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "estimator/app/cli/sweep_origin.h"
#include "estimator/app/report/sweep_record.h"
#include "graph/base/json_lines_file.h"

namespace plimsoll::cli {

class SweepLog {
 public:
  // A new file, whose first line is the origin's: E610 where there is one.
  static Result<SweepLog> start(const std::string& path, const SweepOrigin& origin);
  // What the file holds is not worked out again, but for its last record, which tells whether it is
  // this sweep's. E321 for a line that is no record, E322 where its first line tells of another
  // plan, model, version, of other flags or data; the file is then as it was.
  static Result<SweepLog> resume(const std::string& path, const SweepOrigin& origin);

  // What the file says of the configurations of a point; nothing where it lacks one. From any
  // thread.
  std::optional<SweepPoint> known(const std::vector<SweptConfiguration>& configurations) const;

  // The next configuration's record: appended, unless the file has it; then it must be the same.
  // E322 where it is not, E612.
  Result<void> add(const SweptConfiguration& configuration, const std::string& line);

  const std::string& path() const { return path_; }
  size_t records() const { return recorded_.size() + added_; }
  size_t resumed() const { return recorded_.size(); }

 private:
  SweepLog(std::string path, JsonLinesFile file) : path_(std::move(path)), file_(std::move(file)) {}

  struct Recorded {
    std::string line;
    SweepPoint point;
  };

  std::string path_;
  JsonLinesFile file_;
  std::map<int64_t, Recorded> recorded_;
  int64_t last_ = -1;
  size_t added_ = 0;
};

}  // namespace plimsoll::cli
