#include "estimator/report/validation.h"

#include <fmt/format.h>

#include "estimator/report/version.h"
#include "graph/base/escape.h"
#include "graph/config/json_writer.h"

namespace plimsoll {
namespace {

void text_or_null(JsonWriter& out, std::string_view key, const std::string& text) {
  out.key(key);
  text.empty() ? out.null() : out.string(text);
}

void real_or_null(JsonWriter& out, std::string_view key, const std::optional<double>& value) {
  out.key(key);
  value ? out.real(*value) : out.null();
}

void write_parts(JsonWriter& out, const StepParts& p) {
  out.begin_object();
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
  real_or_null(out, "ratio", c.ratio);
  out.end_object();
}

void write_line(JsonWriter& out, const ValidationLine& l) {
  out.begin_object();
  out.key("file").string(l.file);
  out.key("index").integer(l.index);
  out.key("kind").string(l.kind);
  text_or_null(out, "device", l.device);
  text_or_null(out, "op", l.op);
  text_or_null(out, "pass", l.pass);
  text_or_null(out, "model", l.model);
  text_or_null(out, "quantity", l.quantity);
  real_or_null(out, "measured", l.measured);
  real_or_null(out, "predicted", l.predicted);
  out.key("range");
  if (l.low && l.high) {
    out.begin_array().real(*l.low).real(*l.high).end_array();
  } else {
    out.null();
  }
  real_or_null(out, "error", l.error);
  out.key("parts");
  l.parts ? write_parts(out, *l.parts) : static_cast<void>(out.null());
  out.key("algorithm");
  l.algorithm ? write_choice(out, *l.algorithm) : static_cast<void>(out.null());
  text_or_null(out, "skipped", l.skipped);
  out.end_object();
}

void write_summary(JsonWriter& out, const ValidationSummary& s) {
  out.begin_object();
  out.key("kind").string(s.kind);
  text_or_null(out, "device", s.device);
  text_or_null(out, "op", s.op);
  text_or_null(out, "pass", s.pass);
  text_or_null(out, "quantity", s.quantity);
  out.key("n").integer(s.n);
  out.key("skipped").integer(s.skipped);
  real_or_null(out, "mape", s.mape);
  real_or_null(out, "median_ape", s.median_ape);
  real_or_null(out, "p90_ape", s.p90_ape);
  real_or_null(out, "bias", s.bias);
  real_or_null(out, "within_range", s.within_range);
  out.end_object();
}

std::string percent(const std::optional<double>& value) {
  return value ? fmt::format("{:.1f} %", 100 * *value) : std::string("-");
}

}  // namespace

std::string_view tolerance_class(std::string_view quantity) {
  return quantity.ends_with("_ms") ? "time" : "memory";
}

std::string to_json(const Validation& v) {
  JsonWriter out = begin_document("plimsoll.validate", JsonWriter::Layout::kCompact);
  out.key("records").begin_array();
  for (const ValidationLine& l : v.lines) write_line(out, l);
  out.end_array();
  out.key("summary").begin_array();
  for (const ValidationSummary& s : v.summaries) write_summary(out, s);
  out.end_array().end_object();
  return out.take() + "\n";
}

std::string to_text(const Validation& v) {
  std::string text = fmt::format(
      "{:<9}{:<24}{:<14}{:<18}{:<16}{:>6}{:>8}{:>9}{:>9}{:>9}{:>10}{:>9}\n", "kind", "device", "op",
      "pass", "quantity", "n", "skipped", "mean", "median", "p90", "bias", "inside");
  for (const ValidationSummary& s : v.summaries) {
    text += fmt::format("{:<9}{:<24}{:<14}{:<18}{:<16}{:>6}{:>8}{:>9}{:>9}{:>9}{:>10}{:>9}\n",
                        s.kind, escape_for_terminal(s.device, 23), escape_for_terminal(s.op, 13),
                        s.pass, s.quantity, s.n, s.skipped, percent(s.mape), percent(s.median_ape),
                        percent(s.p90_ape), percent(s.bias), percent(s.within_range));
  }
  return text;
}

}  // namespace plimsoll
