#include "estimator/app/html/markup.h"

#include <fmt/format.h>

#include "estimator/app/report/human.h"
#include "estimator/app/report/markup_text.h"
#include "estimator/app/report/text.h"
#include "graph/base/escape.h"

namespace plimsoll {

Markup& Markup::open(std::string_view tag, HtmlAttributes attributes) {
  out_ += fmt::format("<{}", tag);
  for (const auto& [name, value] : attributes)
    out_ += fmt::format(" {}=\"{}\"", name, escaped_markup(value));
  out_ += '>';
  open_.emplace_back(tag);
  return *this;
}

Markup& Markup::close() {
  out_ += fmt::format("</{}>", open_.back());
  const bool within_a_line = open_.back() == "td" || open_.back() == "th" || open_.back() == "span";
  if (!within_a_line) out_ += '\n';
  open_.pop_back();
  return *this;
}

Markup& Markup::text(std::string_view text) {
  out_ += escaped_markup(text);
  return *this;
}

Markup& Markup::element(std::string_view tag, std::string_view content, HtmlAttributes attributes) {
  return open(tag, attributes).text(content).close();
}

HtmlTable::HtmlTable(Markup& out, std::string_view caption,
                     std::initializer_list<HtmlColumn> columns, HtmlAttributes attributes)
    : out_(out) {
  begin(caption, columns.begin(), columns.size(), attributes);
}

HtmlTable::HtmlTable(Markup& out, std::string_view caption, const std::vector<HtmlColumn>& columns,
                     HtmlAttributes attributes)
    : out_(out) {
  begin(caption, columns.data(), columns.size(), attributes);
}

void HtmlTable::begin(std::string_view caption, const HtmlColumn* columns, size_t count,
                      HtmlAttributes attributes) {
  // A region that scrolls sideways must be reached by the keyboard.
  out_.open("div",
            {{"class", "scroll"}, {"role", "region"}, {"tabindex", "0"}, {"aria-label", caption}});
  out_.open("table", attributes).element("caption", caption).open("thead").open("tr");
  for (size_t i = 0; i < count; ++i)
    out_.element("th", columns[i].title,
                 {{"scope", "col"}, {"class", columns[i].figures ? "figure" : ""}});
  out_.close().close().open("tbody");
}

HtmlTable& HtmlTable::row(HtmlAttributes attributes) {
  if (in_row_) out_.close();
  out_.open("tr", attributes);
  in_row_ = first_ = true;
  return *this;
}

void HtmlTable::add(std::string_view text, HtmlAttributes attributes) {
  out_.element(first_ ? "th" : "td", text, attributes);
  first_ = false;
}

HtmlTable& HtmlTable::cell(std::string_view text) {
  // Ids and verdicts stay on their line.
  constexpr size_t kShort = 22;
  const bool whole = text.size() <= kShort && text.find_first_of("- ") != std::string_view::npos;
  if (first_ && whole) {
    add(text, {{"scope", "row"}, {"class", "whole"}});
  } else if (first_) {
    add(text, {{"scope", "row"}});
  } else if (whole) {
    add(text, {{"class", "whole"}});
  } else {
    add(text, {});
  }
  return *this;
}

HtmlTable& HtmlTable::swatch(std::string_view colour, std::string_view text) {
  out_.open("th", {{"scope", "row"}});
  out_.element("span", "", {{"class", fmt::format("swatch {}", colour)}}).text(text).close();
  first_ = false;
  return *this;
}

HtmlTable& HtmlTable::cell(std::string_view text, double figure) {
  add(text, {{"data-v", fmt::format("{}", figure)}});
  return *this;
}

HtmlTable& HtmlTable::bytes(int64_t bytes) {
  return cell(human_bytes(bytes), static_cast<double>(bytes));
}

HtmlTable& HtmlTable::time(int64_t ns) { return cell(human_time(ns), static_cast<double>(ns)); }

HtmlTable& HtmlTable::count(int64_t count) {
  return cell(fmt::format("{}", count), static_cast<double>(count));
}

HtmlTable& HtmlTable::giga(int64_t flop) {
  const auto value = static_cast<double>(flop);
  return cell(fmt::format("{:.3f}", value / 1e9), value);
}

HtmlTable& HtmlTable::percent(double share) {
  return cell(fmt::format("{:.1f} %", 100 * share), share);
}

void HtmlTable::end() {
  if (in_row_) out_.close();
  out_.close().close().close();
}

}  // namespace plimsoll
