// Table: rows of cells, laid out for a page, or written as CSV or Markdown.
//
//   Table table({{.title = "gpu", .kind = Column::kName}, {.title = "peak", .key =
//   "device_bytes"}}); table.add({{device.id}, {human_bytes(bytes), std::to_string(bytes)}},
//   Tone::kBad); table.text(page)   // "gpu           peak\ntesla-t4  14.1 GiB\n"
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/app/report/page.h"

namespace plimsoll {

struct Column {
  enum Kind : uint8_t {
    kName,    // stands left; its middle is cut where the page is narrow
    kFigure,  // stands right, whole
    kRemark,  // stands left, whole
    kFlags,   // stands left, whole; goes on below, from flag to flag, where the page is narrow
  };
  std::string title;
  std::string key = {};  // of CSV, where it is not the title
  Kind kind = kFigure;
  // Where the page is narrow those of the highest rank are left out first; of rank 0 none is.
  int rank = 0;
};

// What people read, and what programs read where that is something else: "1.5 GiB", "1610612736".
struct TableCell {
  std::string text;
  std::string raw = {};
};

class Table {
 public:
  explicit Table(std::vector<Column> columns);
  // As many cells as there are columns.
  void add(std::vector<TableCell> cells, Tone tone = Tone::kPlain);
  bool empty() const { return rows_.empty(); }

  // Names and texts are escaped. No line is longer than the page unless names of twelve columns and
  // the columns of rank 0 are; which columns were left out, a last line says.
  std::string text(const Page& page, size_t indent = 0) const;
  // A line of keys, then raw cells, quoted as RFC 4180 has it.
  std::string csv() const;
  std::string markdown() const;

 private:
  struct Row {
    std::vector<TableCell> cells;
    Tone tone;
  };
  struct Layout {
    std::vector<size_t> shown, widths;  // columns, and the width of each of those
    size_t left_out = 0;
  };
  // A column that may be left out, and of which no row has anything.
  bool is_empty(size_t column) const;
  Layout lay_out(const Page& page, size_t indent) const;
  // What goes on below a line of these cells, which it is taken out of; empty where nothing does.
  std::vector<std::string> take_below(const Layout& layout, std::vector<std::string>& cells) const;
  std::string line(const Layout& layout, const std::vector<std::string>& cells) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

// What a table is written as beside text: each is a flag, "--csv", of the verbs that have a table.
struct TableForm {
  std::string_view name;
  std::string_view help;  // "as CSV"
  std::string (Table::*write)() const;
};
std::span<const TableForm> table_forms();

}  // namespace plimsoll
