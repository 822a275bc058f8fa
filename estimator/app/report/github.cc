#include "estimator/app/report/github.h"

#include <fmt/format.h>

#include "estimator/app/report/spelling.h"
#include "estimator/app/report/validation.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

constexpr size_t kMostAnnotations = 9;
constexpr int64_t kMostRows = 100;

std::string escaped_as(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : escaped(text)) {
    if (special.find(c) == special.npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

// In CSV a record is a line, behind the line of keys; elsewhere nobody knows.
std::string place_of(const ValidationLine& l) {
  std::string place = "file=" + escaped_for_property(l.file);
  if (l.file.ends_with(".csv")) place += fmt::format(",line={}", l.index + 2);
  return place;
}

}  // namespace

std::string escaped_for_command(std::string_view text) { return escaped_as(text, "%\r\n"); }
std::string escaped_for_property(std::string_view text) { return escaped_as(text, "%\r\n:,"); }

void GithubReport::add(const ValidationLine& l, LineState state, const std::string& allowed) {
  const bool outside = state == LineState::kOutside;
  if (!outside && state != LineState::kSkipped) return;
  const std::string& what = l.model.empty() ? l.op : l.model;
  const std::string why = outside && l.gap ? "; the largest part is " + gap_text(*l.gap) : "";
  if (listed_ < kMostRows) {
    ++listed_;
    table_.add(
        {{fmt::format("{}:{}", shortened(l.file), l.index)},
         {shortened(what)},
         {shortened(l.quantity)},
         {figure_text(l, l.measured)},
         {figure_text(l, l.predicted)},
         {l.error ? fmt::format("{:+.1f} %", 100 * *l.error) : "-"},
         {outside ? "allowed " + allowed + why : "skipped: " + shortened(spelled(l.skipped))}});
  } else {
    ++unlisted_;
  }
  if (!outside || ++outside_ > static_cast<int64_t>(kMostAnnotations)) return;
  annotations_.push_back(
      fmt::format("::error {},title=plimsoll::{}", place_of(l),
                  escaped_for_command(fmt::format(
                      "{} of {}: {} predicted, {} measured ({:+.1f} %, allowed {}{})", l.quantity,
                      what, figure_text(l, l.predicted), figure_text(l, l.measured),
                      100 * l.error.value_or(0), allowed, why))));
}

std::string GithubReport::annotations() const {
  std::string text;
  for (const std::string& annotation : annotations_) text += annotation + "\n";
  const int64_t rest = outside_ - static_cast<int64_t>(annotations_.size());
  if (rest > 0) text += fmt::format("::error title=plimsoll::and {} more out of tolerance\n", rest);
  return text;
}

std::string GithubReport::summary(const Gate& gate) const {
  std::string text =
      fmt::format("### plimsoll validate: {}\n\n{} compared, {} out of tolerance, {} skipped\n",
                  gate.passed ? "PASSED" : "FAILED", gate.compared, gate.outside, gate.skipped);
  if (!table_.empty()) text += "\n" + table_.markdown();
  if (unlisted_ > 0) text += fmt::format("\nand {} more\n", unlisted_);
  return text;
}

}  // namespace plimsoll
