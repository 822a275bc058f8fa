// CSV as RFC 4180 has it, read row by row: a file may be larger than memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/base/byte_source.h"
#include "graph/base/diagnostic.h"
#include "graph/base/limits.h"

namespace plimsoll {

class CsvReader {
 public:
  // `source` must outlive the reader. A byte-order mark is skipped; rows end with LF, CR LF or CR.
  explicit CsvReader(const ByteSource& source, const Limits& limits = {})
      : source_(source), limits_(limits) {}

  // The next row's fields, without quotes; false at the end. Empty lines are no rows.
  // E511 for a quote that is not closed or not followed by a comma, E817 for a line beyond the
  // limit, E605 and E606 where reading fails.
  Result<bool> next(std::vector<std::string>& fields);
  // Where the row that next() gave began, from 1.
  int line() const { return row_line_; }

 private:
  // The next byte, -1 at the end or after a fault.
  int take();
  int peek();
  Result<void> quoted(std::string& field);
  Place place(int line) const { return {source_.name(), line, 0, {}}; }

  const ByteSource& source_;
  Limits limits_;
  std::vector<std::byte> window_;
  size_t at_ = 0;        // in the window
  uint64_t offset_ = 0;  // of the window's end
  int64_t row_bytes_ = 0;
  int line_ = 1, row_line_ = 1;
  std::optional<Diagnostics> fault_;
};

}  // namespace plimsoll
