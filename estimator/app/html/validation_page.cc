#include "estimator/app/html/validation_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/app/html/estimate_sections.h"
#include "estimator/app/html/page.h"
#include "estimator/app/report/spelling.h"
#include "estimator/app/report/validation.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

constexpr size_t kMostFirst = 1000, kMostLines = 2000;

void add_error(HtmlTable& table, const std::optional<double>& share) {
  share ? table.percent(*share) : table.cell("-");
}

void add_value(HtmlTable& table, const std::optional<double>& value) {
  value ? table.cell(fmt::format("{:.4g}", *value), *value) : table.cell("-");
}

void write_gate(Markup& out, const Gate& gate) {
  out.open("header", {{"class", "answer"}}).element("p", "Predicted against measured");
  out.open("h1").element("span", gate.passed ? "PASSED" : "FAILED",
                         {{"class", gate.passed ? "verdict fits" : "verdict does_not_fit"}});
  out.text(fmt::format("{} compared", gate.compared)).close();
  out.open("dl", {{"class", "facts"}});
  write_fact(out, "out of tolerance", fmt::format("{}", gate.outside), "of those compared");
  write_fact(out, "skipped", fmt::format("{}", gate.skipped), "without a prediction");
  out.close().close();
}

// Operators and passes are those of kernels' records alone.
void write_sums(Markup& out, const std::vector<ValidationSummary>& summaries) {
  const bool of_kernels = std::ranges::any_of(
      summaries, [](const auto& s) { return !s.op.empty() || !s.pass.empty(); });
  std::vector<HtmlColumn> columns = {{"kind"}, {"device"}};
  if (of_kernels) columns.insert(columns.end(), {{"operator"}, {"pass"}});
  columns.insert(columns.end(), {{"quantity"},
                                 {"n", true},
                                 {"skipped", true},
                                 {"mean error", true},
                                 {"median", true},
                                 {"90 % below", true},
                                 {"bias", true},
                                 {"inside range", true}});
  HtmlTable table(out, "Errors by kind of record", columns, {{"class", "sortable"}});
  for (const ValidationSummary& s : summaries) {
    table.row().cell(s.kind).cell(s.device);
    if (of_kernels) table.cell(s.op).cell(s.pass);
    table.cell(s.quantity);
    table.count(s.n).count(s.skipped);
    for (const auto* share : {&s.mape, &s.median_ape, &s.p90_ape, &s.bias, &s.within_range})
      add_error(table, *share);
  }
  table.end();
}

// Each quantity has a scale of its own.
void write_panels(Markup& out, const std::vector<std::string>& quantities) {
  out.open("div", {{"class", "panels"}});
  for (const std::string& quantity : quantities) {
    out.open("div").element("h3", shortened(quantity, 40));
    write_chart(out, "validation", "", quantity);
    write_chart(out, "errors", "", quantity);
    out.close();
  }
  out.close();
}

std::string_view state_text(LineState state) {
  switch (state) {
    case LineState::kInside:
      return "within tolerance";
    case LineState::kOutside:
      return "out of tolerance";
    case LineState::kPredicted:
      return "predicted";
    case LineState::kSkipped:
      break;
  }
  return "skipped";
}

}  // namespace

void ValidationPage::add(const ValidationLine& line, LineState state) {
  ++lines_;
  const bool room =
      kept_.size() < kMostFirst || (state == LineState::kOutside && kept_.size() < kMostLines);
  if (room) kept_.push_back({line, state});
}

std::vector<std::string> ValidationPage::kept_quantities() const {
  constexpr size_t kMostPanels = 12;
  std::vector<std::string> all;
  for (const Kept& k : kept_) {
    const ValidationLine& l = k.line;
    const bool drawn = l.measured && l.predicted && *l.measured > 0 && *l.predicted > 0;
    if (drawn && std::ranges::find(all, l.quantity) == all.end() && all.size() < kMostPanels)
      all.push_back(l.quantity);
  }
  return all;
}

std::string ValidationPage::json(const std::vector<ValidationSummary>& summaries, const Gate& gate,
                                 const ValidationNotes& notes) const {
  std::string text;
  ValidationReport report(ValidationReport::Form::kJson,
                          [&](const std::string& piece) { text += piece; });
  for (const Kept& k : kept_) report.add(k.line, k.state);
  report.finish(summaries, gate, notes);
  return text;
}

std::string ValidationPage::to_html(const std::vector<ValidationSummary>& summaries,
                                    const Gate& gate, const ValidationNotes& notes,
                                    const std::string& command) const {
  Markup body;
  write_gate(body, gate);
  open_section(body, "errors", "Predicted against measured", "");
  write_panels(body, kept_quantities());
  write_sums(body, summaries);
  body.close();
  open_section(body, "records", "Records", "");
  const int64_t left_out = lines_ - static_cast<int64_t>(kept_.size());
  if (left_out > 0)
    body.element("p", fmt::format("{} lines are left out here; --json has all of them.", left_out),
                 {{"class", "notice"}});
  HtmlTable table(body, "Each figure that was measured",
                  {{"record"},
                   {"model or operator"},
                   {"device"},
                   {"quantity"},
                   {"measured", true},
                   {"predicted", true},
                   {"low", true},
                   {"high", true},
                   {"error", true},
                   {"state"},
                   {"largest part of the error"}},
                  {{"class", "sortable"}});
  for (const Kept& k : kept_) {
    const ValidationLine& l = k.line;
    // The folder is the command's; a column has no room for it.
    table.row().cell(
        shortened(fmt::format("{}:{}", l.file.substr(l.file.rfind('/') + 1), l.index), 50));
    table.cell(shortened(l.model.empty() ? l.op : l.model, 60));
    table.cell(shortened(l.device, 40)).cell(shortened(l.quantity, 40));
    for (const auto* value : {&l.measured, &l.predicted, &l.low, &l.high}) add_value(table, *value);
    add_error(table, l.error);
    table.cell(k.state == LineState::kSkipped ? "skipped: " + shortened(spelled(l.skipped), 120)
                                              : std::string(state_text(k.state)));
    table.cell(l.gap ? gap_text(*l.gap) : "");
  }
  table.end();
  body.close();
  open_section(body, "notes", "Notes", "");
  write_notes(body, notes.notes);
  body.close();
  return plimsoll::to_html({.title = fmt::format("Validation: {}, {} compared",
                                                 gate.passed ? "passed" : "failed", gate.compared),
                            .body = body.take(),
                            .json = json(summaries, gate, notes),
                            .command = command});
}

}  // namespace plimsoll
