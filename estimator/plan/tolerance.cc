#include "estimator/plan/tolerance.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace plimsoll {
namespace {

// Bytes or seconds of one of a quantity's own units; nothing where it has neither.
std::optional<double> unit_of(std::string_view quantity) {
  if (quantity.ends_with("_mb") || quantity.ends_with("_mib")) return 1048576.0;
  if (quantity.ends_with("_gb")) return 1e9;
  if (quantity.ends_with("_bytes")) return 1.0;
  if (quantity.ends_with("_ms")) return 1e-3;
  return std::nullopt;
}

bool within(const ValidationLine& line, const Tolerance& tolerance) {
  if (line.quantity == "fits")
    return line.low && line.high && *line.measured >= *line.low && *line.measured <= *line.high;
  if (tolerance.relative) return line.error && std::abs(*line.error) <= *tolerance.relative;
  const auto unit = unit_of(line.quantity);
  const double most = tolerance.bytes.value_or(tolerance.seconds.value_or(0));
  return unit && std::abs(*line.predicted - *line.measured) * *unit <= most;
}

// "fits" answers yes or no, of which no error is a share.
bool comparable(const ValidationLine& line) {
  return line.skipped.empty() && line.measured && line.predicted &&
         (line.error || line.quantity == "fits");
}

}  // namespace

const std::vector<std::string>& tolerance_classes() {
  static const std::vector<std::string> kClasses = {"memory", "time", "workspace", "share", "fits"};
  return kClasses;
}

std::string_view tolerance_class(std::string_view quantity) {
  if (quantity == "fits" || quantity == "largest_batch_that_fits") return "fits";
  if (quantity.starts_with("workspace")) return "workspace";
  if (quantity.ends_with("_ms")) return "time";
  const bool bytes =
      quantity.ends_with("_mb") || quantity.ends_with("_gb") || quantity.ends_with("_mib");
  return bytes ? "memory" : "share";
}

LineState state_of(const ValidationLine& line, const Tolerances& tolerances) {
  if (!line.skipped.empty()) return LineState::kSkipped;
  const auto at = tolerances.find(tolerance_class(line.quantity));
  if (at == tolerances.end() || !comparable(line)) return LineState::kPredicted;
  return within(line, at->second) ? LineState::kInside : LineState::kOutside;
}

Diagnostics doubted_units(const std::vector<ValidationLine>& lines) {
  constexpr double kMebi = 1.048576, kNear = 0.005;
  constexpr int kEnough = 3;
  int count = 0, decimal = 0, binary = 0;
  for (const ValidationLine& line : lines) {
    if (tolerance_class(line.quantity) != "memory" || !line.error) continue;
    ++count;
    decimal += std::abs(*line.error + 1 - 1 / kMebi) < kNear ? 1 : 0;
    binary += std::abs(*line.error + 1 - kMebi) < kNear ? 1 : 0;
  }
  if (count < kEnough || (decimal < count && binary < count)) return {};
  return {warning("W510",
                  decimal == count
                      ? "all errors of memory are near -4.6 %: is the column in MB, not MiB?"
                      : "all errors of memory are near +4.9 %: is the column in MiB, not MB?",
                  {}, "a record's \"unit\" says which: \"10^6 bytes\"")};
}

Gate judge(const std::vector<ValidationLine>& lines, const Tolerances& tolerances,
           bool allow_skipped) {
  Gate gate;
  std::set<std::string_view> answered;
  for (const ValidationLine& line : lines) {
    const LineState state = state_of(line, tolerances);
    gate.skipped += state == LineState::kSkipped ? 1 : 0;
    gate.outside += state == LineState::kOutside ? 1 : 0;
    const bool judged = state == LineState::kInside || state == LineState::kOutside;
    if (judged) answered.insert(tolerance_class(line.quantity));
    gate.compared += judged || (tolerances.empty() && comparable(line)) ? 1 : 0;
  }
  const bool all = std::ranges::all_of(
      tolerances, [&](const auto& one) { return answered.contains(one.first); });
  gate.passed =
      gate.compared > 0 && all && gate.outside == 0 && (allow_skipped || gate.skipped == 0);
  return gate;
}

}  // namespace plimsoll
