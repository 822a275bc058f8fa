#include "calibrate/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibrate/kernel_record.h"
#include "estimator/report/text.h"
#include "graph/json/writer.h"

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

void write_row(JsonWriter& out, const ReportRow& row) {
  const PredictedKernel& p = row.predicted;
  const TimedOffer* taken = row.taken();
  out.key("kernel").string(p.label).key("class").string(class_of(p));
  out.key("count").integer(p.count());
  out.key("predicted_ns").integer(ns_of(p.time.seconds));
  out.key("range_ns").begin_array().integer(ns_of(p.time.low)).integer(ns_of(p.time.high));
  out.end_array().key("predicted_workspace_bytes").integer(p.workspace_bytes);
  out.key("predicted_algorithm").string(p.algorithm);
  const auto unknown = [&](const char* key) { out.key(key).null(); };
  if (taken) {
    out.key("measured_ns").integer(ns_of(taken->seconds)).key("measured_range_ns").begin_array();
    out.integer(ns_of(taken->low)).integer(ns_of(taken->high)).end_array();
    out.key("algorithm").string(taken->offer.algorithm);
  } else {
    unknown("measured_ns");
    unknown("measured_range_ns");
    unknown("algorithm");
    out.key("skipped").string(row.record.timing.skipped);
  }
  if (taken && taken->offer.workspace_bytes) {
    out.key("workspace_bytes").integer(*taken->offer.workspace_bytes);
  } else {
    unknown("workspace_bytes");
  }
  out.key("offers").integer(static_cast<int64_t>(row.record.timing.offers.size()));
}

void write_summary(JsonWriter& out, const ValidationSummary& s) {
  out.key("class").string(s.op).key("quantity").string(s.quantity);
  out.key("n").integer(s.n).key("skipped").integer(s.skipped);
  out.key("mape").real(s.mape);
  out.key("bias").real(s.bias);
  out.key("within_range").real(s.within_range);
}

}  // namespace

std::string json_of(const RunReport& report) {
  JsonWriter out(JsonWriter::Layout::kIndented);
  out.begin_object().key("schema").string("plimsoll.run").key("version").integer(1);
  out.key("card").begin_object().key("name").string(report.facts.name);
  out.key("driver").string(report.facts.driver);
  if (!report.facts.source.empty()) out.key("recording").string(report.facts.source);
  out.key("libraries").begin_array();
  for (const CardLibrary& library : report.facts.libraries)
    out.string(fmt::format("{} {}", library.name, library.version));
  out.end_array().end_object();
  out.key("result").begin_object().key("device").string(report.device);
  out.key("model").string(report.model).key("batch").integer(report.batch);
  out.key("stopped").boolean(report.stopped);
  out.key("kernels").objects(report.rows, [&](const ReportRow& row) { write_row(out, row); });
  out.key("sums").objects(report.sums, [&](const ReportSum& sum) {
    out.key("name").string(sum.name).key("kernels").integer(sum.kernels);
    out.key("launches").integer(sum.launches);
    out.key("predicted_ns").integer(ns_of(sum.predicted));
    out.key("measured_ns").integer(ns_of(sum.measured));
  });
  out.key("summary").objects(report.summary,
                             [&](const ValidationSummary& s) { write_summary(out, s); });
  out.key("figures").objects(report.figures, [&](const Figure& figure) {
    out.key("quantity").string(figure.quantity).key("unit").string(figure.unit);
    out.key("value").real(figure.value);
  });
  out.key("passed").boolean(report.gate.passed);
  out.key("compared").integer(report.gate.compared).key("outside").integer(report.gate.outside);
  out.end_object().end_object();
  return out.take() + "\n";
}

}  // namespace plimsoll::calibrate
