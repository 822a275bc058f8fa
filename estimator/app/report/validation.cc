#include "estimator/app/report/validation.h"

#include <fmt/format.h>

#include <cmath>

#include "estimator/app/report/answer_notes.h"
#include "estimator/app/report/document.h"
#include "estimator/app/report/human.h"
#include "estimator/app/report/spelling.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

// Of the tolerance, where one asks for it.
std::optional<bool> is_inside(LineState state) {
  if (state != LineState::kInside && state != LineState::kOutside) return std::nullopt;
  return state == LineState::kInside;
}

constexpr std::string_view kForm = "plimsoll.validate";
constexpr std::string_view kGate =
    "compared: predictions with an error, of the classes that a tolerance asks for; passed decides "
    "the exit status";

std::string percent(const std::optional<double>& value) {
  return value ? fmt::format("{:.1f} %", 100 * *value) : std::string("-");
}

constexpr int64_t kMostRuns = 1000;
constexpr size_t kPiece = size_t{1} << 16;  // as pipes take them

void describe_validation_notes(Fields& f, ValidationNotes& validation) {
  describe_notes(f, validation.notes, {.verb = validation.verb, .verb_settings = [&] {
                                         f("files", validation.files);
                                         f("tolerance", validation.tolerances);
                                         f("allow_skipped", validation.allow_skipped);
                                         f("source_machines", validation.source_machines);
                                       }});
}

std::string raw(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

Table run_table() {
  return Table({{"run", {}, Column::kName},
                {"model or op", "model", Column::kName},
                {"device", {}, Column::kName, 2},
                {"quantity", {}, Column::kName, 1},
                {"measured"},
                {"predicted"},
                {"error"},
                {"", "state", Column::kRemark}});
}

// People count from 1, the index of JSON and CSV from 0.
std::string run_of(const ValidationLine& l, size_t most) {
  return fmt::format("{} #{}", shortened(l.file, most), l.index + 1);
}

std::vector<TableCell> run_row(const ValidationLine& l, LineState state) {
  return {{run_of(l, 21), fmt::format("{}:{}", l.file, l.index)},
          {l.model.empty() ? l.op : l.model},
          {l.device},
          {l.quantity},
          {figure_text(l, l.measured), raw(l.measured)},
          {figure_text(l, l.predicted), raw(l.predicted)},
          {percent(l.error), raw(l.error)},
          {state == LineState::kSkipped   ? "skipped"
           : state == LineState::kOutside ? "out of tolerance"
                                          : "",
           state == LineState::kOutside ? "FAIL" : ""}};
}

std::string why_skipped(const ValidationLine& l, const Page& page) {
  return wrapped(
      escaped_format("skipped: {}: {}", run_of(l, 33), shortened(spelled(l.skipped), 200)), page,
      9);
}

// Of a failure, and of what lies outside the prediction's own range.
bool is_off(const ValidationLine& l, LineState state) {
  const bool outside = l.low && l.high && (*l.measured < *l.low || *l.measured > *l.high);
  return state == LineState::kOutside || outside;
}

std::string why_off(const ValidationLine& l, const Page& page) {
  return wrapped(escaped_format("error: {}: {}: the largest part is {}", run_of(l, 33), l.quantity,
                                gap_text(*l.gap)),
                 page, 5);
}

std::string last_line(const Gate& gate, bool has_tolerance) {
  std::string text =
      fmt::format("{} {} compared", gate.passed ? "PASSED" : "FAILED", gate.compared);
  if (gate.passed) text += has_tolerance ? ", all within tolerance" : ", no tolerance given";
  if (gate.outside > 0) text += fmt::format(", {} out of tolerance", gate.outside);
  if (gate.skipped > 0) text += fmt::format(", {} skipped", gate.skipped);
  return text + "\n";
}

}  // namespace

std::string figure_text(const ValidationLine& line, const std::optional<double>& value) {
  if (!value) return "-";
  constexpr double kCounted = 1e12;  // as nanoseconds too these are 64 bits
  const bool counted = std::abs(*value) < kCounted;
  if (counted && line.unit == "B") return human_bytes(std::llround(*value));
  if (counted && line.unit == "ms") return human_time(std::llround(1e6 * *value));
  const std::string number =
      std::abs(*value) < 1000 ? fmt::format("{:.4g}", *value) : fmt::format("{:.0f}", *value);
  return line.unit.empty() ? number : number + " " + line.unit;
}

std::string gap_text(const Gap& gap) {
  return fmt::format("{}: {:.4g} predicted, {:.4g} measured", gap.part, gap.predicted,
                     gap.measured);
}

ValidationReport::ValidationReport(Form form, std::function<void(const std::string&)> write,
                                   const Page& page, const TableForm* table)
    : form_(form), page_(page), table_(table), runs_(run_table()), write_(std::move(write)) {
  json_.begin_object();
  JsonFields head = json_fields(json_);
  describe_head(head, kForm);
  json_.key("records").begin_array();
}

void ValidationReport::add(const ValidationLine& line, LineState state) {
  if (table_) {
    runs_.add(run_row(line, state));
    if (++lines_ % kMostRuns == 0) write_rows();
    return;
  }
  if (form_ == Form::kText) {
    if (lines_++ >= kMostRuns) return;
    runs_.add(run_row(line, state), state == LineState::kOutside   ? Tone::kBad
                                    : state == LineState::kSkipped ? Tone::kDoubtful
                                                                   : Tone::kPlain);
    if (state == LineState::kSkipped) {
      const std::string why = why_skipped(line, page_);
      if (!text_.ends_with(why)) text_ += why;  // of each figure of the run
    }
    if (line.gap && is_off(line, state)) text_ += why_off(line, page_);
    return;
  }
  JsonFields fields = json_fields(json_);
  fields.object([&] { describe(fields, unchanged(line), is_inside(state)); });
  text_ += json_.take();
  if (text_.size() < kPiece) return;
  write_(text_);
  text_.clear();
}

// A head stands over the first rows alone.
void ValidationReport::write_rows() {
  std::string text = (runs_.*table_->write)();
  if (headed_) text.erase(0, (run_table().*table_->write)().size());
  headed_ = true;
  runs_ = run_table();
  write_(text);
}

void ValidationReport::finish_text(const std::vector<ValidationSummary>& summaries,
                                   const Gate& gate, bool has_tolerance) {
  if (lines_ == 0) return write_(last_line(gate, has_tolerance));
  std::string text = runs_.text(page_) + text_;
  if (lines_ > kMostRuns) text += fmt::format("and {} more, all in --json\n", lines_ - kMostRuns);
  Table sums({{"kind", {}, Column::kName},
              {"device", {}, Column::kName},
              {"op", {}, Column::kName, 3},
              {"pass", {}, Column::kName, 3},
              {"quantity", {}, Column::kName, 2},
              {"runs"},
              {"skipped", {}, Column::kFigure, 4},
              {"error"},
              {"median", {}, Column::kFigure, 5},
              {"p90", {}, Column::kFigure, 5},
              {"bias", {}, Column::kFigure, 1},
              {"in range"}});
  for (const ValidationSummary& s : summaries) {
    sums.add({{s.kind},
              {s.device},
              {s.op},
              {s.pass},
              {s.quantity},
              count_cell(s.n),
              count_cell(s.skipped),
              {percent(s.mape)},
              {percent(s.median_ape)},
              {percent(s.p90_ape)},
              {percent(s.bias)},
              {percent(s.within_range)}});
  }
  const std::string_view passed = gate.passed ? "PASSED" : "FAILED";
  std::string verdict = last_line(gate, has_tolerance);
  verdict.replace(0, passed.size(), toned(passed, gate.passed ? Tone::kGood : Tone::kBad, page_));
  write_(text + "\n" + sums.text(page_) + "\n" + verdict);
}

void ValidationReport::finish_json(const std::vector<ValidationSummary>& summaries,
                                   const Gate& gate, const ValidationNotes& validation) {
  json_.end_array();
  JsonFields fields = json_fields(json_);
  fields("summary", unchanged(summaries));
  fields("result", unchanged(gate), kGate);
  describe_validation_notes(fields, unchanged(validation));
  json_.end_object();
  write_(text_ + json_.take() + "\n");
}

void ValidationReport::finish(const std::vector<ValidationSummary>& summaries, const Gate& gate,
                              const ValidationNotes& validation) {
  if (table_) return write_rows();
  form_ == Form::kText ? finish_text(summaries, gate, !validation.tolerances.empty())
                       : finish_json(summaries, gate, validation);
}

void describe_any_validation(Fields& f) {
  std::vector<ValidationLine> records;
  f.object([&] {
    describe_head(f, kForm);
    f.list("records", records, [&](ValidationLine& l) { describe(f, l, std::nullopt); });
    f("summary", std::vector<ValidationSummary>());
    f("result", Gate{}, kGate);
    ValidationNotes any;
    describe_validation_notes(f, any);
  });
}

}  // namespace plimsoll
