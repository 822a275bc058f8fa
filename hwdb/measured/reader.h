// The reader of measured runs: JSON or CSV, a record at a time.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "graph/base/byte_source.h"
#include "graph/base/diagnostic.h"
#include "graph/base/limits.h"
#include "hwdb/measured/run.h"

namespace plimsoll {

struct RunFile {
  std::string name;
  std::string title, repository;  // of the source
  std::optional<RunKind> kind;    // of records that do not say
  size_t runs = 0;
  std::set<std::string> notes;  // keys that mean nothing here, of any record; some hundred at most
  std::map<std::string, std::string> renamed;  // keys of measured runs by other names of theirs
  bool is_export = false;    // of an experiment tracker: records may name no device
  size_t missing_cells = 0;  // "[N/A]" and "[Not Supported]" in CSV
  Diagnostics warnings;
};

// Calls `each` with every record, in order. JSON and its lines are read whole, CSV row by row. W515
// in the file's warnings for a key that is no known one but near it, a note W515 for the rest; N520
// counts cells that say nothing was measured. E501 no runs, E502 unknown kind, E510 a column given
// twice, E511 a ragged row or an unclosed quote, E512 a cell that is not of its column's type, E513
// a negative measurement, E514 a zero, E530 a pickle; E30x as the JSON reader; E816 more rows than
// the limit.
Result<RunFile> read_measured(const ByteSource& source,
                              const std::function<void(MeasuredRun&&)>& each,
                              const Limits& limits = {});

}  // namespace plimsoll
