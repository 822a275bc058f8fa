#include "estimator/app/validate/tolerance.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

// A megabyte's part of a mebibyte, and how near an error comes to it.
constexpr double kMebi = 1.048576, kNearUnit = 0.005;

// Bytes or seconds of one of a quantity's own units; nothing where it has neither.
std::optional<double> unit_of(std::string_view quantity) {
  if (quantity.ends_with("_mb") || quantity.ends_with("_mib")) return 1048576.0;
  if (quantity.ends_with("_gib")) return 1073741824.0;
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

// "fits" answers yes or no, of which no error is a share; nor is one of a workspace of 0 bytes.
bool comparable(const ValidationLine& line) {
  return line.skipped.empty() && line.measured && line.predicted &&
         (line.error || line.quantity == "fits" || line.quantity == "workspace_bytes");
}

}  // namespace

const std::vector<std::string>& tolerance_classes() {
  static const std::vector<std::string> kClasses = {"memory", "time", "workspace", "share", "fits"};
  return kClasses;
}

std::string_view tolerance_class(std::string_view quantity) {
  if (quantity == "fits" || quantity == "largest_batch_that_fits") return "fits";
  if (quantity.starts_with("workspace")) return "workspace";
  if (quantity.ends_with("_ms") || quantity == "throughput") return "time";
  return unit_of(quantity) ? "memory" : "share";
}

LineState state_of(const ValidationLine& line, const Tolerances& tolerances) {
  if (!line.skipped.empty()) return LineState::kSkipped;
  const auto at = tolerances.find(tolerance_class(line.quantity));
  if (at == tolerances.end() || !comparable(line)) return LineState::kPredicted;
  return within(line, at->second) ? LineState::kInside : LineState::kOutside;
}

Judge::Judge(Tolerances tolerances, bool allow_skipped)
    : tolerances_(std::move(tolerances)), allow_skipped_(allow_skipped) {}

LineState Judge::add(const ValidationLine& line) {
  const LineState state = state_of(line, tolerances_);
  const std::string_view of = tolerance_class(line.quantity);
  gate_.skipped += state == LineState::kSkipped ? 1 : 0;
  gate_.outside += state == LineState::kOutside ? 1 : 0;
  const bool judged = state == LineState::kInside || state == LineState::kOutside;
  if (judged) answered_.insert(of);
  gate_.compared += judged || (tolerances_.empty() && comparable(line)) ? 1 : 0;
  if (of == "memory" && line.error) {
    ++of_memory_;
    decimal_ += std::abs(*line.error + 1 - 1 / kMebi) < kNearUnit ? 1 : 0;
    binary_ += std::abs(*line.error + 1 - kMebi) < kNearUnit ? 1 : 0;
  }
  return state;
}

Diagnostics Judge::doubted_units() const {
  constexpr int kEnough = 3;
  if (of_memory_ < kEnough || (decimal_ < of_memory_ && binary_ < of_memory_)) return {};
  return {warning("W510",
                  decimal_ == of_memory_
                      ? "all errors of memory are near -4.6 %: is the column in MB, not MiB?"
                      : "all errors of memory are near +4.9 %: is the column in MiB, not MB?",
                  {}, "the \"unit\" of the record has it: \"10^6 bytes\"")};
}

Gate Judge::gate() const {
  Gate gate = gate_;
  const bool all = std::ranges::all_of(
      tolerances_, [&](const auto& one) { return answered_.contains(one.first); });
  gate.passed =
      gate.compared > 0 && all && gate.outside == 0 && (allow_skipped_ || gate.skipped == 0);
  return gate;
}

}  // namespace plimsoll
