// SweepOrigin: what the answers of a sweep rest on, as the first line of its file tells it. An
// answer that was kept is believed only where all of it is the same today.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "estimator/app/sweep/sweep_plan.h"
#include "graph/base/diagnostic.h"
#include "hwdb/hwdb.h"

namespace plimsoll::cli {

class SweepOrigin {
 public:
  // `plan`: its file. `models`: as the command line has them. `flags`: name and value of all that
  // may move an answer; a value that is a file's name stands for what the file holds. Cost: the
  // whole database and the models are hashed, some tens of milliseconds; of a file larger than
  // 256 MiB its size and when it was changed. Errors as ByteSource::open().
  using Flags = std::vector<std::pair<std::string, std::string>>;
  static Result<SweepOrigin> make(const std::string& plan, const std::vector<std::string>& models,
                                  const Flags& flags, const Hwdb& hwdb);

  static constexpr std::string_view kBegins = R"({"schema":"plimsoll.sweep-log")";
  // {"schema":"plimsoll.sweep-log","version":1,"plimsoll":"1.2.3","plan":"9f86d0...",...}
  std::string line() const;
  // What `line`, of another file, has otherwise: "the plan, the model first.json"; empty where it
  // is the same, and "its form" for a line that is none of ours.
  std::string unlike(std::string_view line) const;

 private:
  std::vector<std::pair<std::string, std::string>> facts_;  // what, and its digest
};

}  // namespace plimsoll::cli
