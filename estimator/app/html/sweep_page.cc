#include "estimator/app/html/sweep_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "estimator/app/html/estimate_sections.h"
#include "estimator/app/html/page.h"
#include "estimator/app/report/comparison.h"
#include "estimator/app/report/document.h"
#include "estimator/app/report/headline.h"
#include "estimator/app/report/human.h"
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
  out.open("h1").element("span", fmt::format("{} OF {} FIT", yes, summary.configurations),
                         {{"class", yes > 0       ? "verdict fits"
                                    : perhaps > 0 ? "verdict may_fit"
                                                  : "verdict does_not_fit"}});
  out.close().open("dl", {{"class", "facts"}});
  write_fact(out, "fit safely", fmt::format("{}", yes), "the whole range is within the memory");
  write_fact(out, "may fit", fmt::format("{}", perhaps), "the memory is within the range");
  write_fact(out, "do not fit", fmt::format("{}", no), "the whole range is beyond");
  if (summary.failed > 0)
    write_fact(out, "have no answer", fmt::format("{}", summary.failed), "see the table");
  out.close().close();
}

// A row for each GPU; nothing for a single one without a price.
void write_gpus(Markup& out, const std::vector<SweepGpu>& gpus) {
  const auto has_price = [](const SweepGpu& gpu) { return gpu.price.has_value(); };
  const bool priced = std::ranges::any_of(gpus, has_price);
  if (gpus.size() < 2 && !priced) return;
  open_section(
      out, "gpus", "By GPU",
      "GPU hours are hours times GPUs, summed over the configurations that fit. Each runs for one "
      "epoch, or for --epochs.");
  std::vector<HtmlColumn> columns = {{"gpu"},
                                     {"fit", true},
                                     {"may fit", true},
                                     {"do not fit", true},
                                     {"no answer", true},
                                     {"GPU hours", true}};
  if (priced) columns.push_back({"price", true});
  HtmlTable table(out, "Configurations by GPU", columns, {{"class", "sortable"}});
  const auto figure = [&](const std::optional<double>& value) {
    value ? table.cell(human_number(*value), *value) : table.cell("-");
  };
  for (const SweepGpu& gpu : gpus) {
    table.row().cell(gpu.device_id);
    for (const Verdict verdict : {Verdict::kFits, Verdict::kMayFit, Verdict::kDoesNotFit})
      table.count(gpu.by_verdict[static_cast<size_t>(verdict)]);
    table.count(gpu.failed);
    figure(gpu.gpu_hours);
    if (priced) figure(gpu.price);
  }
  table.end();
  out.close();
}

}  // namespace

SweepPage::Key SweepPage::key_of(const SweepCandidate& candidate) const {
  const JsonValue* model = value_of(plan_, candidate.configuration.values, "model");
  return {model ? text_of(*model) : "", candidate.point.device_id};
}

void SweepPage::add(const SweptConfiguration& configuration, const SweepPoint& point) {
  SweepCandidate candidate{configuration, point};
  grids_.add(configuration.values, point);
  if (time_ && !point.failure && point.fits) fronts_[key_of(candidate)].add(configuration, point);
  if (configuration.number % every_ != 0) return;
  kept_.push_back(std::move(candidate));
  if (kept_.size() <= kMostKept) return;
  every_ *= 2;
  std::erase_if(kept_,
                [&](const SweepCandidate& c) { return c.configuration.number % every_ != 0; });
}

SweepPage::Shown SweepPage::shown(const SweepCandidate& candidate) const {
  Shown one{.candidate = &candidate};
  const SweepPoint& point = candidate.point;
  if (!price_ || point.failure || point.samples_per_second <= 0) return one;
  if (const auto hour = price_(candidate))
    one.price_of_million = price_of_million(*hour, point.samples_per_second);
  return one;
}

std::vector<SweepPage::Shown> SweepPage::shown(const SweepBest& best) const {
  std::map<int64_t, Shown> by_number;
  const auto entry = [&](const SweepCandidate& c) -> Shown& {
    return by_number.try_emplace(c.configuration.number, shown(c)).first->second;
  };
  for (const SweepCandidate& c : kept_) entry(c);
  for (const auto& front : fronts_) {
    for (const SweepCandidate& c : front.second.pareto_front()) entry(c).is_pareto_of_gpu = true;
  }
  for (const SweepCandidate& c : best.pareto_front()) entry(c).is_pareto = true;
  std::vector<Shown> all;
  for (const auto& one : by_number) all.push_back(one.second);
  return all;
}

std::string SweepPage::json(const SweepSummary& summary, const std::vector<Shown>& shown) const {
  SweepPageDocument document{.time = time_, .grids = grids_.all(), .summary = summary};
  for (const Shown& s : shown)
    document.records.push_back({record_of(plan_, s.candidate->configuration, s.candidate->point),
                                s.is_pareto, s.is_pareto_of_gpu, s.price_of_million});
  return described_text([&](Fields& f) { f.visit(document); }, JsonWriter::Layout::kCompact);
}

// Those that are kept, or the best of them.
void SweepPage::write_table(Markup& out, std::string_view caption, const std::vector<Shown>& shown,
                            bool filtered) const {
  const bool priced =
      std::ranges::any_of(shown, [](const Shown& s) { return s.price_of_million.has_value(); });
  std::vector<HtmlColumn> columns = {{"configuration"}, {"gpu"}};
  std::vector<size_t> parameters;
  for (size_t i = 0; i < plan_.parameters.size(); ++i) {
    if (plan_.parameters[i].values.empty() || plan_.parameters[i].name == "gpu") continue;
    parameters.push_back(i);
    columns.push_back({plan_.parameters[i].name});
  }
  for (const std::string_view title : {"peak", "usable"}) columns.push_back({title, true});
  if (time_) columns.insert(columns.end(), {{"step", true}, {"throughput", true}});
  if (priced) columns.push_back({"price of a million", true});
  columns.insert(columns.end(), {{"verdict"}, {"best"}});
  HtmlTable table(out, caption, columns, {{"class", filtered ? "sortable filtered" : "sortable"}});
  for (const Shown& s : shown) {
    const SweepPoint& p = s.candidate->point;
    table.row().cell(fmt::format("#{}", s.candidate->configuration.number)).cell(p.device_id);
    for (const size_t i : parameters)
      table.cell(
          shortened(text_of(plan_.parameters[i].values[s.candidate->configuration.values[i]]), 40));
    if (p.failure) {
      for (int empty = 0; empty < (time_ ? 4 : 2) + (priced ? 1 : 0); ++empty) table.cell("");
      table.cell(shortened(spelled(p.failure->front().message), 120)).cell("");
      continue;
    }
    table.bytes(p.device_bytes).bytes(p.usable_bytes);
    if (time_) table.time(p.step_ns).cell(human_number(p.samples_per_second), p.samples_per_second);
    if (priced) {
      const auto& price = s.price_of_million;
      price ? table.cell(fmt::format("{:.3g}", *price), *price) : table.cell("");
    }
    table.cell(headline(p.verdict));
    table.cell(s.is_pareto ? "of all" : s.is_pareto_of_gpu ? "on its GPU" : "");
  }
  table.end();
}

// The fastest first, or without times the smallest.
void SweepPage::write_best(Markup& out, const std::vector<Shown>& shown) const {
  std::vector<Shown> best;
  std::ranges::copy_if(shown, std::back_inserter(best), &Shown::is_pareto);
  if (best.empty()) return;
  std::ranges::stable_sort(best, [&](const Shown& a, const Shown& b) {
    const SweepPoint &x = a.candidate->point, &y = b.candidate->point;
    return time_ ? x.samples_per_second > y.samples_per_second : x.device_bytes < y.device_bytes;
  });
  constexpr size_t kMostBest = 20;
  if (best.size() > kMostBest) best.resize(kMostBest);
  open_section(out, "best", "Best that fit",
               time_ ? "No configuration has both a higher rate and a lower peak than one of these."
                     : "Least memory.");
  write_table(out, "Best configurations", best, false);
  out.close();
}

void SweepPage::write_configurations(Markup& out, const std::vector<Shown>& all,
                                     int64_t left_out) const {
  open_section(
      out, "configurations", time_ ? "Memory against throughput" : "Memory",
      time_ ? "A line joins the configurations of a GPU that fit and that no other one on it beats "
              "in both speed and memory. Names are those of the best of all. Hollow: does not fit."
            : "");
  const auto priced = [](const Shown& s) { return s.price_of_million.has_value(); };
  if (time_) write_chart(out, "pareto", std::ranges::any_of(all, priced) ? "memory price" : "");
  if (left_out > 0)
    out.element("p",
                fmt::format("{} configurations are omitted here; none of them is on the Pareto "
                            "front. --json has all.",
                            left_out),
                {{"class", "notice"}});
  write_table(out, "Configurations", all, true);
  out.close();
}

std::string SweepPage::to_html(const SweepSummary& summary, const SweepBest& best,
                               const std::string& model, const std::string& command) const {
  const std::vector<Shown> all = shown(best);
  Markup body;
  write_sweep_answer(body, summary, model);
  write_best(body, all);
  if (!grids_.all().empty()) {
    open_section(body, "grids", "What fits, by two parameters", "");
    write_chart(body, "heat");
    body.close();
  }
  write_gpus(body, summary.by_gpu);
  write_configurations(body, all, summary.configurations - static_cast<int64_t>(all.size()));
  open_section(body, "notes", "Notes", "");
  write_notes(body, summary.notes);
  body.close();
  return plimsoll::to_html({.title = fmt::format("Sweep of {}: {} of {} fit", shortened(model, 60),
                                                 summary.by_verdict[0], summary.configurations),
                            .body = body.take(),
                            .json = json(summary, all),
                            .command = command});
}

}  // namespace plimsoll
