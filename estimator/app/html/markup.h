// HTML, written so that text stays text: whatever comes from a model or a file is escaped here.
//
//   Markup out;
//   out.open("section", {{"id", "notes"}}).element("h2", "Notes").close();
//   std::string html = out.take();
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll {

// Names are ours, values are escaped.
using HtmlAttributes = std::initializer_list<std::pair<std::string_view, std::string_view>>;

class Markup {
 public:
  Markup& open(std::string_view tag, HtmlAttributes attributes = {});
  // What was opened last and is open yet.
  Markup& close();
  Markup& text(std::string_view text);
  Markup& element(std::string_view tag, std::string_view text, HtmlAttributes attributes = {});

  std::string take() { return std::move(out_); }

 private:
  std::string out_;
  std::vector<std::string> open_;
};

// A table that reads without scripts, and that tables.js sorts: cells carry the figure they show.
//
//   HtmlTable table(out, "Largest tensors", {{"made by"}, {"bytes", true}});
//   table.row().cell("conv1").cell("98.0 MiB", 102760448);
//   table.end();
struct HtmlColumn {
  std::string_view title;
  bool figures = false;  // aligned to the right, and the largest sort first
};

class HtmlTable {
 public:
  HtmlTable(Markup& out, std::string_view caption, std::initializer_list<HtmlColumn> columns,
            HtmlAttributes attributes = {});
  HtmlTable(Markup& out, std::string_view caption, const std::vector<HtmlColumn>& columns,
            HtmlAttributes attributes = {});

  HtmlTable& row(HtmlAttributes attributes = {});
  // The first of a row is its heading.
  HtmlTable& cell(std::string_view text);
  // With a swatch of the colour that page.css gives to `colour`.
  HtmlTable& swatch(std::string_view colour, std::string_view text);
  HtmlTable& cell(std::string_view text, double figure);
  HtmlTable& bytes(int64_t bytes);   // "12.8 GiB"
  HtmlTable& time(int64_t ns);       // "176 ms"
  HtmlTable& count(int64_t count);   // "1024"
  HtmlTable& giga(int64_t flop);     // in GFLOP
  HtmlTable& percent(double share);  // "79.8 %"
  void end();

 private:
  void begin(std::string_view caption, const HtmlColumn* columns, size_t count,
             HtmlAttributes attributes);
  void add(std::string_view text, HtmlAttributes attributes);

  Markup& out_;
  bool in_row_ = false, first_ = false;
};

}  // namespace plimsoll
