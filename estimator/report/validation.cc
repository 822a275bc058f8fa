#include "estimator/report/validation.h"

#include <fmt/format.h>

#include "estimator/report/human.h"
#include "estimator/report/spelling.h"
#include "estimator/report/version.h"
#include "graph/base/escape.h"
#include "graph/json/writer.h"

namespace plimsoll {
namespace {

void write_parts(JsonWriter& out, const StepParts& p) {
  out.begin_object();
  out.key("evidence").string(p.evidence);
  out.key("gpu_ms").real(p.gpu_ms);
  out.key("host_ms").real(p.host_ms);
  out.key("framework_ms").real(p.framework_ms);
  out.key("copy_ms").real(p.copy_ms);
  out.key("communication_ms").real(p.communication_ms);
  out.key("launches").integer(p.launches);
  out.key("forward_launches").integer(p.forward_launches);
  out.key("parameter_bytes").integer(p.parameter_bytes);
  out.key("parameter_arrays").integer(p.parameter_arrays);
  out.end_object();
}

void write_choice(JsonWriter& out, const AlgorithmChoice& c) {
  out.begin_object();
  out.key("predicted").string(c.predicted);
  out.key("measured").string(c.measured);
  out.key("same").boolean(c.same);
  out.key("ratio").real(c.ratio);
  out.end_object();
}

void write_gap(JsonWriter& out, const Gap& g) {
  out.begin_object();
  out.key("part").string(g.part);
  out.key("predicted").real(g.predicted);
  out.key("measured").real(g.measured);
  out.end_object();
}

void write_line(JsonWriter& out, const ValidationLine& l, LineState state) {
  out.begin_object();
  out.key("file").string(l.file);
  out.key("index").integer(l.index);
  out.key("kind").string(l.kind);
  out.key("device").string_or_null(l.device);
  out.key("op").string_or_null(l.op);
  out.key("pass").string_or_null(l.pass);
  out.key("model").string_or_null(l.model);
  out.key("quantity").string_or_null(l.quantity);
  out.key("measured").real(l.measured);
  out.key("predicted").real(l.predicted);
  out.key("range");
  if (l.low && l.high) {
    out.begin_array().real(*l.low).real(*l.high).end_array();
  } else {
    out.null();
  }
  out.key("error").real(l.error);
  out.key("roofline").real(l.roofline);
  out.key("parts");
  l.parts ? write_parts(out, *l.parts) : static_cast<void>(out.null());
  out.key("algorithm");
  l.algorithm ? write_choice(out, *l.algorithm) : static_cast<void>(out.null());
  out.key("gap");
  l.gap ? write_gap(out, *l.gap) : static_cast<void>(out.null());
  out.key("skipped").string_or_null(spelled(l.skipped));
  out.key("within_tolerance");
  const bool judged = state == LineState::kInside || state == LineState::kOutside;
  judged ? out.boolean(state == LineState::kInside) : out.null();
  out.end_object();
}

void write_summary(JsonWriter& out, const ValidationSummary& s) {
  out.key("kind").string(s.kind);
  out.key("device").string_or_null(s.device);
  out.key("op").string_or_null(s.op);
  out.key("pass").string_or_null(s.pass);
  out.key("quantity").string_or_null(s.quantity);
  out.key("n").integer(s.n);
  out.key("skipped").integer(s.skipped);
  out.key("mape").real(s.mape);
  out.key("median_ape").real(s.median_ape);
  out.key("p90_ape").real(s.p90_ape);
  out.key("bias").real(s.bias);
  out.key("within_range").real(s.within_range);
}

std::string percent(const std::optional<double>& value) {
  return value ? fmt::format("{:.1f} %", 100 * *value) : std::string("-");
}

constexpr int64_t kMostRuns = 1000;
constexpr size_t kPiece = size_t{1} << 16;  // as pipes take them

std::string figure(const std::optional<double>& value) {
  return value ? fmt::format("{:.4g}", *value) : std::string("-");
}

Table run_table() {
  return Table({{"run", {}, Column::kName},
                {"model or op", {}, Column::kName},
                {"device", {}, Column::kName, 2},
                {"quantity", {}, Column::kName, 1},
                {"measured"},
                {"predicted"},
                {"error"},
                {"", {}, Column::kRemark}});
}

std::vector<TableCell> run_row(const ValidationLine& l, LineState state) {
  return {{shortened(fmt::format("{}:{}", l.file, l.index), 24)},
          {l.model.empty() ? l.op : l.model},
          {l.device},
          {l.quantity},
          {figure(l.measured)},
          {figure(l.predicted)},
          {percent(l.error)},
          {state == LineState::kSkipped   ? "skipped"
           : state == LineState::kOutside ? "FAIL"
                                          : ""}};
}

std::string why_skipped(const ValidationLine& l, const Page& page) {
  return wrapped(escaped_format("skipped: {}:{}: {}", shortened(l.file, 33), l.index,
                                shortened(spelled(l.skipped), 200)),
                 page, 9);
}

// Of a failure, and of what lies outside the prediction's own range.
bool is_off(const ValidationLine& l, LineState state) {
  const bool outside = l.low && l.high && (*l.measured < *l.low || *l.measured > *l.high);
  return state == LineState::kOutside || outside;
}

std::string why_off(const ValidationLine& l, const Page& page) {
  return wrapped(escaped_format("gap: {}:{}: {}: most of it is {}", shortened(l.file, 33), l.index,
                                l.quantity, gap_text(*l.gap)),
                 page, 5);
}

std::string last_line(const Gate& gate) {
  std::string text =
      fmt::format("{} {} compared", gate.passed ? "PASSED" : "FAILED", gate.compared);
  if (gate.outside > 0) text += fmt::format(", {} out of tolerance", gate.outside);
  if (gate.skipped > 0) text += fmt::format(", {} skipped", gate.skipped);
  return text + "\n";
}

}  // namespace

std::string gap_text(const Gap& gap) {
  return fmt::format("{}: {:.4g} predicted, {:.4g} measured", gap.part, gap.predicted,
                     gap.measured);
}

ValidationReport::ValidationReport(Form form, std::function<void(const std::string&)> write,
                                   const Page& page)
    : form_(form),
      page_(page),
      runs_(run_table()),
      write_(std::move(write)),
      json_(begin_document("plimsoll.validate", JsonWriter::Layout::kCompact)) {
  json_.key("records").begin_array();
}

void ValidationReport::add(const ValidationLine& line, LineState state) {
  if (form_ == Form::kText) {
    if (lines_++ >= kMostRuns) return;
    runs_.add(run_row(line, state), state == LineState::kOutside   ? Tone::kBad
                                    : state == LineState::kSkipped ? Tone::kDoubtful
                                                                   : Tone::kPlain);
    if (state == LineState::kSkipped) text_ += why_skipped(line, page_);
    if (line.gap && is_off(line, state)) text_ += why_off(line, page_);
    return;
  }
  write_line(json_, line, state);
  text_ += json_.take();
  if (text_.size() < kPiece) return;
  write_(text_);
  text_.clear();
}

void ValidationReport::finish_text(const std::vector<ValidationSummary>& summaries,
                                   const Gate& gate) {
  if (lines_ == 0) return write_(last_line(gate));
  std::string text = runs_.text(page_) + text_;
  if (lines_ > kMostRuns) text += fmt::format("and {} more, all in --json\n", lines_ - kMostRuns);
  Table sums({{"kind", {}, Column::kName},
              {"device", {}, Column::kName},
              {"op", {}, Column::kName, 3},
              {"pass", {}, Column::kName, 3},
              {"quantity", {}, Column::kName, 2},
              {"n"},
              {"skipped", {}, Column::kFigure, 4},
              {"mean"},
              {"median", {}, Column::kFigure, 5},
              {"p90", {}, Column::kFigure, 5},
              {"bias", {}, Column::kFigure, 1},
              {"inside"}});
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
  std::string verdict = last_line(gate);
  verdict.replace(0, passed.size(), toned(passed, gate.passed ? Tone::kGood : Tone::kBad, page_));
  write_(text + "\n" + sums.text(page_) + "\n" + verdict);
}

void ValidationReport::finish_json(const std::vector<ValidationSummary>& summaries,
                                   const Gate& gate) {
  json_.end_array();
  json_.key("summary").objects(summaries,
                               [&](const ValidationSummary& s) { write_summary(json_, s); });
  json_.key("result").begin_object();
  json_.key("passed").boolean(gate.passed);
  json_.key("compared").integer(gate.compared);
  json_.key("out_of_tolerance").integer(gate.outside);
  json_.key("skipped").integer(gate.skipped).end_object();
  json_.end_object();
  write_(text_ + json_.take() + "\n");
}

void ValidationReport::finish(const std::vector<ValidationSummary>& summaries, const Gate& gate) {
  form_ == Form::kText ? finish_text(summaries, gate) : finish_json(summaries, gate);
}

}  // namespace plimsoll
