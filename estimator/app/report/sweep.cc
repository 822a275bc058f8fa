#include "estimator/app/report/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "estimator/app/report/answer_notes.h"
#include "estimator/app/report/document.h"
#include "estimator/app/report/human.h"
#include "estimator/app/report/spelling.h"
#include "estimator/app/report/text.h"
#include "estimator/app/sweep/sweep_bundles.h"
#include "estimator/settings/json_texts.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

constexpr size_t kMostListed = 20;

// FNV-1a, eight bytes at a time.
void mix(int64_t value, uint64_t& checksum) {
  if (checksum == 0) checksum = 0xcbf29ce484222325;
  for (int byte = 0; byte < 8; ++byte) {
    checksum ^= (static_cast<uint64_t>(value) >> (8 * byte)) & 0xff;
    checksum *= 0x100000001b3;
  }
}

std::string described(const SweepPlan& plan, const SweptConfiguration& configuration) {
  std::vector<std::string> words;
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    const SweepParameter& parameter = plan.parameters[i];
    if (parameter.values.empty()) continue;
    words.push_back(
        escaped_format("{} {}", shortened(parameter.name, 24),
                       shortened(text_of(parameter.values[configuration.values[i]]), 24)));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

double figure_of(const SweepPoint& point, Objective::Figure figure) {
  switch (figure) {
    case Objective::Figure::kSamplesPerSecond:
      return point.samples_per_second;
    case Objective::Figure::kStepNs:
      return static_cast<double>(point.step_ns);
    case Objective::Figure::kDeviceBytes:
      return static_cast<double>(point.device_bytes);
  }
  return 0;
}

bool is_better(const SweepPoint& a, const SweepPoint& b, const Objective& objective) {
  const double one = figure_of(a, objective.figure), other = figure_of(b, objective.figure);
  return objective.maximize ? one > other : one < other;
}

}  // namespace

void describe(Fields& f, SweepSummary& summary) {
  static constexpr std::array<std::string_view, 2> kGoals = {"maximize", "minimize"};
  f("configurations", summary.configurations);
  f("fit", summary.fit, "lines whose fits is true");
  f("fits", summary.by_verdict[static_cast<size_t>(Verdict::kFits)],
    "lines whose verdict is fits; with may_fit, does_not_fit and failed they sum to all");
  f("may_fit", summary.by_verdict[static_cast<size_t>(Verdict::kMayFit)],
    "lines whose verdict is may_fit");
  f("does_not_fit", summary.by_verdict[static_cast<size_t>(Verdict::kDoesNotFit)],
    "lines whose verdict is does_not_fit");
  f("failed", summary.failed);
  f("checksum", fmt::format("{:016x}", summary.checksum),
    "of all verdicts, peaks and times, in the order of the lines");
  f("seconds", summary.seconds, {.low = 0});
  f("by_gpu", summary.by_gpu, "configurations and hours by GPU");
  const Objective objective = summary.objective.value_or(Objective{});
  const SweepCandidate best = summary.best.value_or(SweepCandidate{});
  f.object("best",
           [&] {
             f("objective", name(objective.figure), {.words = kObjectiveFigures});
             f("goal", kGoals[objective.maximize ? 0 : 1], {.words = kGoals});
             f("configuration", best.configuration.number);
             f("value", figure_of(best.point, objective.figure));
           },
           {.meaning = "of those that fit, by the plan's objective; the first of equals",
            .absent_where = !summary.objective || !summary.best});
}

void describe_verb_settings(Fields& f, SweepSummary& summary) {
  SweepQuestion& q = summary.question;
  f("plan", q.plan);
  f("parameters", q.parameters, "of the plan, with the values that they go through");
  f("method", q.method);
  f("run_cap", q.run_cap);
  f("seed", q.seed);
  f("shard", q.shard, {.null_where = q.shard.empty()});
  f("memory_only", q.memory_only);
}

void describe(Fields& f, SweepPageDocument& page) {
  describe_head(f, "plimsoll.sweep");
  f.list("records", page.records, [&](SweepPageDocument::Record& r) {
    describe(f, r.record, page.time);
    f("unbeaten", r.is_pareto, "it fits, and no other needs less memory at the same speed");
    f("unbeaten_on_gpu", r.is_pareto_of_gpu, "it fits, and no other of its model on its GPU does");
    f("price_of_a_million_samples", r.price_of_million,
      {.absent_where = !r.price_of_million, .low = 0});
  });
  const int64_t left_out = page.summary.configurations - static_cast<int64_t>(page.records.size());
  f("records_left_out", left_out, "of many configurations, some of those that are beaten");
  f("grids", page.grids, "how many configurations fit, by two parameters");
  f("result", page.summary);
  describe_notes(f, page.summary.notes,
                 {.verb_settings = [&] { describe_verb_settings(f, page.summary); }});
}

void add(const SweptConfiguration& configuration, const SweepPoint& point, SweepSummary& summary) {
  ++summary.configurations;
  summary.failed += point.failure ? 1 : 0;
  summary.fit += !point.failure && point.fits ? 1 : 0;
  if (!point.failure) ++summary.by_verdict[static_cast<size_t>(point.verdict)];
  mix(configuration.number, summary.checksum);
  if (point.failure) return mix(-1, summary.checksum);
  mix(point.fits ? 1 : 0, summary.checksum);
  mix(point.device_bytes, summary.checksum);
  mix(point.step_ns, summary.checksum);
  const bool counts = summary.objective && point.fits;
  if (counts && (!summary.best || is_better(point, summary.best->point, *summary.objective)))
    summary.best = {configuration, point};
}

std::string axes_text(const SweepPlan& plan) {
  std::vector<std::string> axes;
  for (const SweepParameter& parameter : plan.parameters) {
    if (parameter.values.empty()) continue;
    axes.push_back(escaped_format("{} {}", parameter.values.size(), shortened(parameter.name, 40)));
  }
  return fmt::format("{}", fmt::join(axes, " x "));
}

std::string to_json_line(const SweepSummary& summary) {
  return answer_text("plimsoll.sweep", summary, JsonWriter::Layout::kCompact);
}

std::string to_text(const SweepSummary& summary) {
  const auto [yes, perhaps, no] = summary.by_verdict;
  std::string text =
      fmt::format("{} fit, {} may fit, {} do{} not fit", yes, perhaps, no, no == 1 ? "es" : "");
  if (summary.failed > 0) text += fmt::format(", {} have no answer", summary.failed);
  return text + fmt::format("; computed in {:.1f} s\n", summary.seconds);
}

std::string best_text(const SweepPlan& plan, const SweepSummary& summary) {
  if (!summary.objective || !summary.best) return "";
  const SweepPoint& p = summary.best->point;
  const Objective::Figure figure = summary.objective->figure;
  const std::string value = figure == Objective::Figure::kDeviceBytes ? human_bytes(p.device_bytes)
                            : figure == Objective::Figure::kStepNs
                                ? human_time(p.step_ns)
                                : human_number(p.samples_per_second) + " " + p.sample_unit + "/s";
  return fmt::format("Best by {}: {}: {}\n", name(figure),
                     described(plan, summary.best->configuration), value);
}

void SweepBest::add(const SweptConfiguration& configuration, const SweepPoint& point) {
  if (point.failure) {
    if (!failed_) failed_ = SweepCandidate{configuration, point};
    return;
  }
  if (!point.fits) {
    const auto excess = [](const SweepPoint& p) { return p.device_bytes - p.usable_bytes; };
    if (!nearest_ || excess(point) < excess(nearest_->point))
      nearest_ = SweepCandidate{configuration, point};
    return;
  }
  const auto beats = [](const SweepPoint& a, const SweepPoint& b) {
    return a.device_bytes <= b.device_bytes && a.samples_per_second >= b.samples_per_second;
  };
  if (std::ranges::any_of(best_, [&](const SweepCandidate& c) { return beats(c.point, point); }))
    return;
  std::erase_if(best_, [&](const SweepCandidate& c) { return beats(point, c.point); });
  best_.push_back({configuration, point});
}

Table SweepBest::table(const SweepPlan& plan, bool time, size_t most) const {
  std::vector<SweepCandidate> sorted = best_;
  std::ranges::stable_sort(sorted, [&](const SweepCandidate& a, const SweepCandidate& b) {
    return time ? a.point.samples_per_second > b.point.samples_per_second
                : a.point.device_bytes < b.point.device_bytes;
  });
  const auto unit = [](const SweepCandidate& c) { return c.point.sample_unit; };
  const bool one_unit =
      !sorted.empty() && std::ranges::all_of(sorted, [&](const SweepCandidate& c) {
        return !unit(c).empty() && unit(c) == unit(sorted.front());
      });
  std::vector<Column> columns;
  for (const SweepParameter& parameter : plan.parameters) {
    if (!parameter.values.empty())
      columns.push_back({shortened(parameter.name, 24), {}, Column::kName});
  }
  const size_t parameters = columns.size();
  columns.push_back({"peak", "device_bytes"});
  columns.push_back({"of", "share_of_usable", Column::kFigure, 2});
  columns.push_back({"step", "step_ns", Column::kFigure, time ? 0 : 1});
  columns.push_back({one_unit ? unit(sorted.front()) + "/s" : "throughput", "samples_per_second",
                     Column::kFigure, time ? 0 : 1});
  columns.push_back({"", "verdict", Column::kRemark});
  Table table(std::move(columns));
  for (size_t i = 0; i < sorted.size() && i < most; ++i) {
    const SweepPoint& p = sorted[i].point;
    std::vector<TableCell> cells;
    for (size_t j = 0; j < plan.parameters.size(); ++j) {
      const SweepParameter& parameter = plan.parameters[j];
      if (parameter.values.empty()) continue;
      // By its id, as in the table of GPUs, whichever alias the plan has.
      cells.push_back({parameter.name == "gpu"
                           ? p.device_id
                           : text_of(parameter.values[sorted[i].configuration.values[j]])});
    }
    cells.resize(parameters);
    cells.push_back(bytes_cell(p.device_bytes));
    cells.push_back(share_cell(share_of(p.device_bytes, p.usable_bytes)));
    cells.push_back(time ? time_cell(p.step_ns) : TableCell{});
    cells.push_back(time ? number_cell(p.samples_per_second) : TableCell{});
    const bool may = p.verdict == Verdict::kMayFit;
    cells.push_back({may ? "may fit" : "", may ? "may_fit" : "fits"});
    table.add(std::move(cells));
  }
  return table;
}

std::string SweepBest::to_text(const SweepPlan& plan, bool time, const Page& page) const {
  std::string text;
  if (failed_) {
    const Diagnostic why = spelled(failed_->point.failure->front());
    text += wrapped(escaped_format("no answer, for example, at {}: {} [{}]",
                                   described(plan, failed_->configuration),
                                   shortened(why.message, 200), why.code),
                    page);
    if (!why.help.empty())
      text += wrapped(escaped_format("  help: {}", shortened(why.help, 200)), page, 8);
  }
  if (best_.empty() && nearest_) {
    const SweepPoint& p = nearest_->point;
    return text + escaped_format("\nNearest: {} needs {} of {}\n",
                                 described(plan, nearest_->configuration),
                                 human_bytes(p.device_bytes), human_bytes(p.usable_bytes));
  }
  if (best_.empty()) return text;
  text += "\n" + wrapped(time ? "Best that fit (none has both a higher rate and a lower peak):"
                              : "Least memory:",
                         page);
  text += table(plan, time, kMostListed).text(page, 2);
  if (best_.size() > kMostListed)
    text += fmt::format("  and {} more\n", best_.size() - kMostListed);
  return text;
}

SweepDips::SweepDips(std::vector<SizeAxis> sizes) : sizes_(std::move(sizes)) {
  const auto at = std::ranges::find(sizes_, "batch", &SizeAxis::symbol);
  if (at == sizes_.end()) return;
  batch_ = static_cast<size_t>(at - sizes_.begin());
}

void SweepDips::add(const SweepPoint& point) {
  if (!batch_ || point.failure) return;
  const std::vector<size_t> place = place_of(point.point, sizes_);
  size_t other = 0;
  for (size_t axis = 0; axis < sizes_.size(); ++axis) {
    if (axis != *batch_) other = other * sizes_[axis].values.size() + place[axis];
  }
  const int64_t batch = sizes_[*batch_].values[place[*batch_]];
  if (before_.size() >= kMostVariants && !before_.contains(point.variant))
    before_.erase(before_.begin());  // variants rise
  std::vector<Before>& places = before_[point.variant];
  if (other >= places.size()) places.resize(other + 1);
  Before& before = places[other];
  if (before.batch > 0 && (batch > before.batch ? point.device_bytes < before.bytes
                                                : point.device_bytes > before.bytes)) {
    if (count_++ == 0) batch_at_first_ = std::max(batch, before.batch);
  }
  before = {batch, point.device_bytes};
}

Diagnostics SweepDips::told() const {
  if (count_ == 0) return {};
  return {note("N121",
               fmt::format("{} configuration{} less memory than one with a smaller batch, the "
                           "first at batch {}: the allocator reserves segments of several sizes",
                           count_, count_ == 1 ? " takes" : "s take", batch_at_first_))};
}

}  // namespace plimsoll
