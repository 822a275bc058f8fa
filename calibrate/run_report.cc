#include "calibrate/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibrate/kernel_record.h"
#include "estimator/app/report/document.h"
#include "estimator/app/report/text.h"
#include "graph/json/schema_fields.h"

namespace plimsoll::calibrate {
namespace {

constexpr double kMsPerSecond = 1e3;
// Bytes. A workspace is off by a share of the larger of both, and of so much at least: cuDNN asks
// for some hundred bytes, or none, where tens of MiB were expected, and the other way round.
constexpr double kLeastWorkspace = 1 << 20;
constexpr std::array<std::string_view, kStepPhaseCount> kPhases = {"forward", "loss", "backward",
                                                                   "update"};

int64_t ns_of(double seconds) { return std::llround(seconds * 1e9); }

std::string class_of(const PredictedKernel& kernel) {
  return std::string(name(kernel.kernel.kernel_class));
}

// As `plimsoll validate` would hold them against each other.
std::vector<ValidationLine> lines_of(const ReportRow& row) {
  ValidationLine time;
  time.file = "kernel";
  time.kind = "kernel";
  time.device = row.record.device;
  time.op = class_of(row.predicted);
  time.model = row.predicted.label;
  time.quantity = "time_ms";
  time.predicted = row.predicted.time.seconds * kMsPerSecond;
  time.low = row.predicted.time.low * kMsPerSecond;
  time.high = row.predicted.time.high * kMsPerSecond;
  const TimedOffer* taken = row.taken();
  if (!taken || taken->clock_moved) {
    time.skipped = taken ? "its clock moved" : row.record.timing.skipped;
    return {time};
  }
  time.measured = taken->seconds * kMsPerSecond;
  time.error = *time.predicted / *time.measured - 1;
  if (!taken->offer.workspace_bytes || row.predicted.kernel.kernel_class != KernelClass::kConv)
    return {time};
  ValidationLine workspace = time;
  workspace.quantity = "workspace_bytes";
  workspace.measured = static_cast<double>(*taken->offer.workspace_bytes);
  workspace.predicted = static_cast<double>(row.predicted.workspace_bytes);
  workspace.low = workspace.high = workspace.error = std::nullopt;
  const double larger = std::max({*workspace.predicted, *workspace.measured, kLeastWorkspace});
  workspace.error = (*workspace.predicted - *workspace.measured) / larger;
  return {time, workspace};
}

void add(ReportSum& sum, const ReportRow& row, int64_t launches) {
  if (launches == 0) return;
  const auto count = static_cast<double>(launches);
  ++sum.kernels;
  sum.launches += launches;
  sum.predicted += count * row.predicted.time.seconds;
  sum.measured += count * row.taken()->seconds;
}

std::vector<ReportSum> sums_of(const std::vector<ReportRow>& rows) {
  ReportSum step{.name = "compared", .kernels = 0};
  std::vector<ReportSum> phases;
  for (const auto phase : kPhases) phases.push_back({.name = std::string(phase)});
  std::map<std::string, ReportSum> classes;
  for (const ReportRow& row : rows) {
    if (!row.taken() || row.taken()->clock_moved) continue;
    add(step, row, row.predicted.count());
    for (size_t i = 0; i < phases.size(); ++i) add(phases[i], row, row.predicted.launches[i]);
    ReportSum& of_class = classes[class_of(row.predicted)];
    of_class.name = class_of(row.predicted);
    add(of_class, row, row.predicted.count());
  }
  std::vector<ReportSum> sums = {step};
  for (ReportSum& phase : phases) {
    if (phase.kernels > 0) sums.push_back(std::move(phase));
  }
  for (auto& [name, sum] : classes) sums.push_back(std::move(sum));
  return sums;
}

std::string outside_text(const ValidationLine& line) {
  const bool bytes = line.quantity == "workspace_bytes";
  const auto shown = [&](double value) {
    return bytes ? human_bytes(static_cast<int64_t>(value))
                 : human_time(static_cast<int64_t>(value * 1e6));
  };
  return fmt::format("{}: {} predicted, {} measured", line.model, shown(*line.predicted),
                     shown(*line.measured));
}

}  // namespace

RunReport report_of(const std::vector<PredictedKernel>& kernels, std::vector<RunRecord> records,
                    const Tolerances& tolerances) {
  std::map<std::string, RunRecord> by_key;
  for (RunRecord& record : records) by_key.emplace(record.key, std::move(record));
  RunReport report;
  Judge judge(tolerances, true);
  Summaries summaries;
  for (const PredictedKernel& kernel : kernels) {
    const auto record = by_key.find(key_of(kernel.kernel));
    if (record == by_key.end()) continue;
    const ReportRow& row = report.rows.emplace_back(ReportRow{kernel, record->second});
    if (!row.taken()) ++report.without_time;
    for (ValidationLine& line : lines_of(row)) {
      line.index = static_cast<int64_t>(report.rows.size()) - 1;
      const LineState state = judge.add(line);
      if (state == LineState::kOutside) report.outside.push_back(outside_text(line));
      report.page.add(line, state);
      summaries.add(line);
    }
  }
  report.sums = sums_of(report.rows);
  report.summary = summaries.take();
  report.gate = judge.gate();
  std::ranges::stable_sort(report.rows, std::greater(), [](const ReportRow& row) {
    return row.predicted.time.seconds * static_cast<double>(row.predicted.count());
  });
  return report;
}

namespace {

Range range_of(double low, double high) { return {ns_of(low), ns_of(high)}; }

void describe(Fields& f, ReportRow& row) {
  const PredictedKernel& p = row.predicted;
  const TimedOffer nothing;
  const bool unknown = !row.taken();
  const TimedOffer& taken = unknown ? nothing : *row.taken();
  f("kernel", p.label);
  f("class", class_of(p));
  f("count", p.count(), "launches of a step");
  f("predicted_ns", ns_of(p.time.seconds));
  f("range_ns", range_of(p.time.low, p.time.high));
  f("predicted_workspace_bytes", p.workspace_bytes);
  f("predicted_algorithm", p.algorithm);
  f("measured_ns", ns_of(taken.seconds),
    {.meaning = "of the way that the framework takes; median", .null_where = unknown});
  f("measured_range_ns", range_of(taken.low, taken.high), {.null_where = unknown});
  f("algorithm", taken.offer.algorithm, {.null_where = unknown});
  f("skipped", row.record.timing.skipped,
    {.meaning = "why there is no time", .absent_where = !unknown});
  f("workspace_bytes", taken.offer.workspace_bytes);
  f("offers", row.record.timing.offers.size(), "ways to run it that the library listed");
}

void describe(Fields& f, ReportSum& sum) {
  f("name", sum.name);
  f("kernels", sum.kernels);
  f("launches", sum.launches);
  f("predicted_ns", ns_of(sum.predicted));
  f("measured_ns", ns_of(sum.measured));
}

void describe_sums(Fields& f, ValidationSummary& s) {
  static constexpr std::array<std::string_view, 2> kQuantities = {"time_ms", "workspace_bytes"};
  f("class", s.op);
  f("quantity", s.quantity, {.words = kQuantities});
  f("n", s.n);
  f("skipped", s.skipped);
  f("mape", s.mape);
  f("bias", s.bias);
  f("within_range", s.within_range);
}

void describe_card(Fields& f, CardFacts& facts) {
  f("name", facts.name, "as the driver calls it");
  f("driver", facts.driver, "its version; empty where the management library is missing");
  f("recording", facts.source,
    {.meaning = "of a card that was not recorded by --record: where the recording is from",
     .absent_where = facts.source.empty()});
  std::vector<std::string> libraries;
  for (const CardLibrary& library : facts.libraries)
    libraries.push_back(fmt::format("{} {}", library.name, library.version));
  f("libraries", libraries, "with their versions");
}

void describe_result(Fields& f, RunReport& report) {
  f("device", report.device, "the card's id");
  f("model", report.model, "empty for a suite");
  f("batch", report.batch);
  f("stopped", report.stopped, "^C: some kernels are not run yet");
  f.list("kernels", report.rows, [&](ReportRow& row) { describe(f, row); },
         {.meaning = "distinct, by predicted share of the step"});
  f.list("sums", report.sums, [&](ReportSum& sum) { describe(f, sum); },
         {.meaning = "over kernels that have both times, each as often as a step launches it: all, "
                     "by phase, by class"});
  f.list("summary", report.summary, [&](ValidationSummary& s) { describe_sums(f, s); });
  f("figures", report.figures, "of the card, with a suite");
  f("passed", report.gate.passed);
  f("compared", report.gate.compared);
  f("outside", report.gate.outside);
}

}  // namespace

void describe(Fields& f, RunReport& report) {
  f.form("plimsoll.run", 1);
  f.object("card", [&] { describe_card(f, report.facts); });
  f.object("result", [&] { describe_result(f, report); });
}

std::string json_of(const RunReport& report) {
  return described_text([&](Fields& f) { f.visit(unchanged(report)); });
}

std::string run_schema() {
  return json_schema(
      "plimsoll-calibrate run --json and replay --json",
      "Kernels as predicted and as measured on a GPU. null: not measured, or not reported.",
      {describe_any<RunReport>});
}

}  // namespace plimsoll::calibrate
