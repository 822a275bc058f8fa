#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibrate/run_report.h"
#include "estimator/app/report/text.h"

namespace plimsoll::calibrate {
namespace {

constexpr size_t kLabel = 46, kMostOutside = 20;

std::string shown_time(double seconds) { return human_time(std::llround(seconds * 1e9)); }

std::string shown_error(double predicted, double measured) {
  return fmt::format("{:+.1f} %", 100 * (predicted / measured - 1));
}

std::string cut(const std::string& text, size_t width) {
  return text.size() > width ? text.substr(0, width - 2) + ".." : text;
}

std::string shown_clock(const CardState& state) {
  std::string text = state.sm_clock_hz ? fmt::format("{:.0f} MHz", *state.sm_clock_hz / 1e6) : "";
  for (const std::string& reason : state.throttled) text += " " + reason;
  return text;
}

void add_card(const RunReport& report, std::string& out) {
  out += fmt::format("{}, {}", report.device, report.facts.name);
  if (!report.facts.driver.empty()) out += ", driver " + report.facts.driver;
  for (const CardLibrary& library : report.facts.libraries)
    out += fmt::format(", {} {}", library.name, library.version);
  out += '\n';
  if (!report.facts.source.empty()) out += "a recording, " + report.facts.source + "\n";
}

void add_kernels(const RunReport& report, std::string& out) {
  out += fmt::format("{:{}} {:>5} {:>10} {:>19} {:>10} {:>9}  {:>21}  {}\n", "kernel", kLabel,
                     "times", "predicted", "(range)", "measured", "error", "workspace, measured",
                     "algorithm, measured");
  for (const ReportRow& row : report.rows) {
    const TimedOffer* taken = row.taken();
    if (!taken) continue;
    const PredictedKernel& p = row.predicted;
    std::string workspace;
    if (p.workspace_bytes > 0 || taken->offer.workspace_bytes.value_or(0) > 0) {
      const auto real = taken->offer.workspace_bytes;
      workspace = fmt::format("{}, {}", human_bytes(p.workspace_bytes),
                              real ? human_bytes(*real) : std::string("unknown"));
    }
    std::string line =
        fmt::format("{:{}} {:5} {:>10} {:>19} {:>10} {:>9}  {:>21}  {}, {} {}",
                    cut(p.label, kLabel), kLabel, p.count(), shown_time(p.time.seconds),
                    fmt::format("({}-{})", shown_time(p.time.low), shown_time(p.time.high)),
                    shown_time(taken->seconds), shown_error(p.time.seconds, taken->seconds),
                    workspace, p.algorithm.empty() ? "-" : p.algorithm, taken->offer.algorithm,
                    taken->clock_moved ? "(clock moved)" : shown_clock(taken->state));
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
}

void add_sums(const RunReport& report, std::string& out) {
  out += fmt::format("\n{:14} {:>8} {:>9} {:>11} {:>11} {:>9}\n", "sum over", "kernels", "launches",
                     "predicted", "measured", "error");
  for (const ReportSum& sum : report.sums) {
    if (sum.measured <= 0) continue;
    out += fmt::format("{:14} {:8} {:9} {:>11} {:>11} {:>9}\n", sum.name, sum.kernels, sum.launches,
                       shown_time(sum.predicted), shown_time(sum.measured),
                       shown_error(sum.predicted, sum.measured));
  }
  out += fmt::format("\n{:14} {:16} {:>5} {:>11} {:>9} {:>13}\n", "class", "", "n", "mean error",
                     "bias", "within range");
  for (const ValidationSummary& s : report.summary) {
    if (!s.mape) continue;
    out += fmt::format("{:14} {:16} {:5} {:>9.1f} % {:>+7.1f} %{}\n", s.op,
                       s.quantity == "time_ms" ? "time" : "workspace", s.n, 100 * *s.mape,
                       100 * *s.bias,
                       s.within_range ? fmt::format("{:>12.0f} %", 100 * *s.within_range) : "");
  }
}

// Kernels without a time, by the reason.
void add_others(const RunReport& report, std::string& out) {
  std::map<std::string, std::vector<std::string>> reasons;
  for (const ReportRow& row : report.rows) {
    if (!row.taken()) reasons[row.record.timing.skipped].push_back(row.predicted.label);
  }
  for (const auto& [reason, labels] : reasons)
    out += fmt::format("no time of {} kernels: {} ({}{})\n", labels.size(), reason, labels.front(),
                       labels.size() > 1 ? ", ..." : "");
}

void add_figures(const RunReport& report, std::string& out) {
  for (const Figure& figure : report.figures) {
    const auto whole = static_cast<int64_t>(figure.value);
    const std::string shown = figure.unit == "B" ? human_bytes(whole)
                              : figure.unit == "s"
                                  ? shown_time(figure.value)
                                  : fmt::format("{:.4g} {}", figure.value, figure.unit);
    out += fmt::format("{:28} {}\n", figure.quantity, shown);
  }
}

}  // namespace

std::string text_of(const RunReport& report) {
  std::string out;
  add_card(report, out);
  add_figures(report, out);
  add_kernels(report, out);
  add_sums(report, out);
  add_others(report, out);
  for (size_t i = 0; i < report.outside.size() && i < kMostOutside; ++i)
    out += "outside: " + report.outside[i] + "\n";
  out += fmt::format("{} {} compared, {} outside, {} without a time\n",
                     report.gate.passed ? "PASSED" : "FAILED", report.gate.compared,
                     report.gate.outside, report.without_time);
  return out;
}

}  // namespace plimsoll::calibrate
