#include "estimator/app/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "graph/base/escape.h"

namespace plimsoll {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kDistinct = 28, kLeastName = 12;  // columns of a name

std::string padded(const std::string& text, size_t width, bool left) {
  const size_t columns = columns_of(text);
  const std::string space(width - std::min(width, columns), ' ');
  return left ? text + space : space + text;
}

// Where the flags end that a line of such a width has room for, of one at least.
size_t end_of_flags(const std::string& text, size_t width) {
  size_t end = 0;
  for (size_t next = text.find_first_not_of(' '); next < text.size();) {
    const size_t at = text.find(" --", next);
    next = at == text.npos ? text.size() : at + 1;
    if (end > 0 && columns_of(text.substr(0, std::min(at, next))) > width) break;
    end = next;
  }
  return end;
}

// Quoted as RFC 4180 has it. A name that a spreadsheet would take for a formula is made text.
std::string csv_cell(const std::string& text, bool is_name) {
  const bool formula =
      is_name && !text.empty() && std::string_view("=+-@\t\r").find(text[0]) != text.npos;
  std::string cell = formula ? "'" + text : text;
  if (cell.find_first_of(",\"\n\r") == cell.npos) return cell;
  for (size_t at = 0; (at = cell.find('"', at)) != cell.npos; at += 2) cell.insert(at, 1, '"');
  return '"' + cell + '"';
}

std::string markdown_cell(const std::string& text) {
  std::string cell;
  for (const char c : escaped(text)) {
    if (std::string_view("|\\`*_<>[]").find(c) != std::string_view::npos) cell += '\\';
    cell += c;
  }
  return cell;
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (Column& column : columns_) {
    if (column.key.empty()) column.key = column.title;
    column.title = escaped(column.title);
  }
}

void Table::add(std::vector<TableCell> cells, Tone tone) {
  assert(cells.size() == columns_.size());
  for (TableCell& cell : cells) {
    if (cell.raw.empty()) cell.raw = cell.text;
    cell.text = escaped(cell.text);
  }
  rows_.push_back({std::move(cells), tone});
}

Table::Layout Table::lay_out(const Page& page, size_t indent) const {
  Layout layout;
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    widths.push_back(columns_of(columns_[c].title));
    for (const Row& row : rows_) widths[c] = std::max(widths[c], columns_of(row.cells[c].text));
    if (!is_empty(c)) layout.shown.push_back(c);
  }
  const auto total = [&] {
    size_t sum = indent;
    for (const size_t c : layout.shown) sum += widths[c] + kGap;
    return sum - kGap;
  };
  const auto cut_to = [&](size_t least) {
    const auto spare = [&](size_t c) {
      return columns_[c].kind == Column::kName && widths[c] > least ? widths[c] : 0;
    };
    while (!layout.shown.empty() && total() > page.width) {
      const size_t longest = *std::ranges::max_element(layout.shown, {}, spare);
      if (spare(longest) == 0) return;
      --widths[longest];
    }
  };
  // Names that are still told apart; then columns; then what is left of the names.
  const std::vector<size_t> whole = widths;
  cut_to(kDistinct);
  while (!layout.shown.empty() && total() > page.width) {
    const auto least =
        std::ranges::max_element(layout.shown, {}, [&](size_t c) { return columns_[c].rank; });
    if (columns_[*least].rank == 0) break;
    layout.shown.erase(least);
    ++layout.left_out;
  }
  widths = whole;  // columns that are left out make room for names
  cut_to(kDistinct);
  cut_to(kLeastName);
  for (const size_t c : layout.shown) {
    const size_t over = total() > page.width ? total() - page.width : 0;
    if (columns_[c].kind == Column::kFlags) widths[c] -= std::min(widths[c] - kLeastName, over);
  }
  for (const size_t c : layout.shown) layout.widths.push_back(widths[c]);
  return layout;
}

namespace {

constexpr TableForm kTableForms[] = {
    {"csv", "as CSV, in bytes and nanoseconds", &Table::csv},
    {"markdown", "as a Markdown table", &Table::markdown},
};

}  // namespace

std::span<const TableForm> table_forms() { return kTableForms; }

bool Table::is_empty(size_t column) const {
  return columns_[column].rank > 0 &&
         std::ranges::all_of(rows_, [&](const Row& row) { return row.cells[column].text.empty(); });
}

std::string Table::line(const Layout& layout, const std::vector<std::string>& cells) const {
  std::string text;
  for (size_t i = 0; i < layout.shown.size(); ++i) {
    const bool left = columns_[layout.shown[i]].kind != Column::kFigure;
    if (i > 0) text += std::string(kGap, ' ');
    text += padded(shortened(cells[layout.shown[i]], std::max<size_t>(1, layout.widths[i])),
                   layout.widths[i], left);
  }
  return text.erase(text.find_last_not_of(' ') + 1);
}

std::vector<std::string> Table::take_below(const Layout& layout,
                                           std::vector<std::string>& cells) const {
  std::vector<std::string> below;
  for (size_t i = 0; i < layout.shown.size(); ++i) {
    std::string& cell = cells[layout.shown[i]];
    if (columns_[layout.shown[i]].kind != Column::kFlags) continue;
    const size_t end = end_of_flags(cell, layout.widths[i]);
    if (end == cell.size()) continue;
    below.resize(cells.size());
    below[layout.shown[i]] = "  " + cell.substr(end);
    cell.erase(end);
  }
  return below;
}

std::string Table::text(const Page& page, size_t indent) const {
  const Layout layout = lay_out(page, indent);
  const std::string margin(indent, ' ');
  std::vector<std::string> cells;
  for (const Column& column : columns_) cells.push_back(column.title);
  std::string text = margin + line(layout, cells) + "\n";
  for (const Row& row : rows_) {
    for (size_t c = 0; c < cells.size(); ++c) cells[c] = row.cells[c].text;
    for (bool more = true; more;) {
      const std::vector<std::string> below = take_below(layout, cells);
      more = !below.empty();
      text += margin + toned(line(layout, cells), row.tone, page) + "\n";
      if (more) cells = below;
    }
  }
  if (layout.left_out > 0)
    text += fmt::format("{}({} more column{} with --wide)\n", margin, layout.left_out,
                        layout.left_out == 1 ? "" : "s");
  return text;
}

std::string Table::csv() const {
  std::string text;
  const auto add_line = [&](auto cell_of) {
    for (size_t c = 0; c < columns_.size(); ++c)
      text += (c > 0 ? "," : "") + csv_cell(cell_of(c), columns_[c].kind != Column::kFigure);
    text += "\n";
  };
  add_line([&](size_t c) { return columns_[c].key; });
  for (const Row& row : rows_) add_line([&](size_t c) { return row.cells[c].raw; });
  return text;
}

std::string Table::markdown() const {
  std::string text = "|", rule = "|";
  std::vector<size_t> shown;
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (is_empty(c)) continue;
    shown.push_back(c);
    text += " " + markdown_cell(columns_[c].title) + " |";
    rule += columns_[c].kind == Column::kFigure ? "--:|" : "---|";
  }
  text += "\n" + rule + "\n";
  for (const Row& row : rows_) {
    text += "|";
    for (const size_t c : shown) text += " " + markdown_cell(row.cells[c].text) + " |";
    text += "\n";
  }
  return text;
}

}  // namespace plimsoll
