#include "estimator/app/html/sweep_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "estimator/app/html/estimate_sections.h"
#include "estimator/app/html/page.h"
#include "estimator/app/report/document.h"
#include "estimator/app/report/headline.h"
#include "estimator/app/report/spelling.h"
#include "estimator/settings/json_texts.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

constexpr size_t kMostKept = 1000;  // some 500 bytes each in the page

void write_sweep_answer(Markup& out, const SweepSummary& summary, const std::string& model) {
  const auto [yes, perhaps, no] = summary.by_verdict;
  out.open("header", {{"class", "answer"}});
  out.element("p", fmt::format("Sweep of {}", shortened(model, 80)));
  out.open("h1").element("span", fmt::format("{} OF {} FIT", summary.fit, summary.configurations),
                         {{"class", summary.fit > 0 ? "verdict fits" : "verdict does_not_fit"}});
  out.close().open("dl", {{"class", "facts"}});
  write_fact(out, "fit safely", fmt::format("{}", yes), "the whole range is within the memory");
  write_fact(out, "may fit", fmt::format("{}", perhaps), "the memory is within the range");
  write_fact(out, "do not fit", fmt::format("{}", no), "the whole range is beyond");
  if (summary.failed > 0)
    write_fact(out, "have no answer", fmt::format("{}", summary.failed), "see the table");
  out.close().close();
}

}  // namespace

void SweepPage::add(const SweptConfiguration& configuration, const SweepPoint& point) {
  if (configuration.number % every_ != 0) return;
  kept_.push_back({configuration, point});
  if (kept_.size() <= kMostKept) return;
  every_ *= 2;
  std::erase_if(kept_,
                [&](const SweepCandidate& c) { return c.configuration.number % every_ != 0; });
}

std::vector<SweepPage::Shown> SweepPage::shown(const SweepBest& best) const {
  std::map<int64_t, Shown> by_number;
  for (const SweepCandidate& c : kept_) by_number[c.configuration.number] = {&c, false};
  for (const SweepCandidate& c : best.pareto_front())
    by_number[c.configuration.number] = {&c, true};
  std::vector<Shown> all;
  for (const auto& entry : by_number) all.push_back(entry.second);
  return all;
}

std::string SweepPage::json(const SweepSummary& summary, const std::vector<Shown>& shown) const {
  SweepPageDocument document{.time = time_, .summary = summary};
  for (const Shown& s : shown)
    document.records.push_back(
        {record_of(plan_, s.candidate->configuration, s.candidate->point), s.unbeaten});
  return described_text([&](Fields& f) { f.visit(document); }, JsonWriter::Layout::kCompact);
}

void SweepPage::write_table(Markup& out, const std::vector<Shown>& shown) const {
  std::vector<HtmlColumn> columns = {{"number", true}, {"gpu"}};
  std::vector<size_t> parameters;
  for (size_t i = 0; i < plan_.parameters.size(); ++i) {
    if (plan_.parameters[i].values.empty() || plan_.parameters[i].name == "gpu") continue;
    parameters.push_back(i);
    columns.push_back({plan_.parameters[i].name});
  }
  for (const std::string_view title : {"peak", "usable"}) columns.push_back({title, true});
  if (time_) columns.insert(columns.end(), {{"step", true}, {"per second", true}});
  columns.insert(columns.end(), {{"verdict"}, {"unbeaten"}});
  HtmlTable table(out, "Configurations", columns, {{"class", "sortable"}});
  for (const Shown& s : shown) {
    const SweepPoint& p = s.candidate->point;
    table.row().count(s.candidate->configuration.number).cell(p.device_id);
    for (const size_t i : parameters)
      table.cell(
          shortened(text_of(plan_.parameters[i].values[s.candidate->configuration.values[i]]), 40));
    if (p.failure) {
      for (int empty = 0; empty < (time_ ? 4 : 2); ++empty) table.cell("");
      table.cell(shortened(spelled(p.failure->front().message), 120)).cell("");
      continue;
    }
    table.bytes(p.device_bytes).bytes(p.usable_bytes);
    if (time_)
      table.time(p.step_ns).cell(fmt::format("{:.1f}", p.samples_per_second), p.samples_per_second);
    table.cell(headline(p.verdict)).cell(s.unbeaten ? "yes" : "");
  }
  table.end();
}

std::string SweepPage::to_html(const SweepSummary& summary, const SweepBest& best,
                               const std::string& model, const std::string& command) const {
  const std::vector<Shown> all = shown(best);
  const int64_t left_out = summary.configurations - static_cast<int64_t>(all.size());
  Markup body;
  write_sweep_answer(body, summary, model);
  open_section(
      body, "configurations", time_ ? "Memory against throughput" : "Memory",
      time_ ? "The line joins what fits and no other beats in both; hollow: does not fit." : "");
  if (time_) write_chart(body, "pareto");
  if (left_out > 0)
    body.element("p",
                 fmt::format("{} configurations are omitted here; none of them is on the Pareto "
                             "front. --json has all.",
                             left_out),
                 {{"class", "notice"}});
  write_table(body, all);
  body.close();
  open_section(body, "notes", "Notes", "");
  write_notes(body, summary.notes);
  body.close();
  return plimsoll::to_html({.title = fmt::format("Sweep of {}: {} of {} fit", shortened(model, 60),
                                                 summary.fit, summary.configurations),
                            .body = body.take(),
                            .json = json(summary, all),
                            .command = command});
}

}  // namespace plimsoll
