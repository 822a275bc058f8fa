// The files that a watch writes as it goes: JSON lines, CSV, a Chrome trace.
#pragma once

#include <optional>
#include <string>

#include "graph/base/json_lines_file.h"
#include "monitor/line_file.h"
#include "monitor/watch.h"

namespace plimsoll::monitor {

struct RunFileNames {
  std::string lines{}, csv{}, trace{};  // empty: not asked for
  bool force = false;                   // csv and trace over what is there; lines are always added
};

// What a run is called in them.
struct RunTitle {
  int64_t pid = 0;
  std::string command{};
  int64_t started_unix_ns = 0, interval_ns = 0;
};

class RunFiles {
 public:
  // As LineFile::open() and, of the lines, JsonLinesFile::open(): before anything is watched.
  static Result<RunFiles> open(const RunFileNames& names);

  // Each gives E612 once for a file that cannot be written any more, and goes on with the others.
  Diagnostics begin(const RunTitle& title, const std::optional<Band>& band);
  Diagnostics add(const Observation& observation);
  Diagnostics end(const Summary& summary);

 private:
  RunFiles() = default;
  static void write(std::optional<LineFile>& file, std::string_view text, Diagnostics& faults);
  void add_lines(std::string_view text, Diagnostics& faults);

  std::optional<JsonLinesFile> lines_;
  std::optional<LineFile> csv_, trace_;
  std::optional<size_t> csv_gpus_;  // cards that have columns, once the first sample is there
};

}  // namespace plimsoll::monitor
