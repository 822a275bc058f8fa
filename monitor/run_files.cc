#include "monitor/run_files.h"

#include "graph/base/try.h"
#include "graph/json/json_fields.h"
#include "monitor/trace.h"

namespace plimsoll::monitor {
namespace {

void write_range(JsonWriter& out, std::string_view key, const std::optional<Predicted>& predicted) {
  out.key(key);
  if (!predicted) return static_cast<void>(out.null());
  out.begin_array().integer(predicted->range.low).integer(predicted->range.high).end_array();
}

std::string title_line(const RunTitle& title, const std::optional<Band>& band) {
  JsonWriter out;
  out.begin_object();
  out.key("schema").string("plimsoll.monitor.samples");
  out.key("version").integer(1);
  out.key("pid").integer(title.pid);
  out.key("command").string_or_null(title.command);
  out.key("started_unix_ns").integer(title.started_unix_ns);
  out.key("interval_ns").integer(title.interval_ns);
  if (band) {
    out.key("predicted_for").string(band->device_id);
    write_range(out, "predicted_device_bytes", band->device);
    write_range(out, "predicted_host_bytes", band->host);
  }
  out.end_object();
  return out.take() + "\n";
}

// A file begins with a title; what is torn may be of any line.
const std::vector<std::string> kLinesBegin = {R"({"schema":"plimsoll.monitor)", R"({"sample":)",
                                              R"({"phase":)", R"({"prediction":)"};

std::string sample_line(const Sample& sample) {
  JsonWriter out;
  JsonFields(out).visit(unchanged(sample));
  return out.take() + "\n";
}

std::string phase_line(const Phase& phase) {
  JsonWriter out;
  out.begin_object();
  out.key("phase").string(name(phase.kind));
  out.key("begin").real(phase.begin);
  out.key("end").real(phase.end);
  out.key("host_peak_bytes").integer(phase.host_peak);
  out.end_object();
  return out.take() + "\n";
}

std::string crossing_line(const BandWatch::Crossing& crossing, double seconds) {
  JsonWriter out;
  out.begin_object();
  out.key("prediction").string(name(crossing.to));
  out.key("of").string(crossing.of_device ? "device_memory" : "host_memory");
  out.key("seconds").real(seconds);
  out.key("bytes").integer(crossing.bytes);
  out.end_object();
  return out.take() + "\n";
}

}  // namespace

Result<RunFiles> RunFiles::open(const RunFileNames& names) {
  RunFiles files;
  const auto take = [](std::optional<LineFile>& into, const std::string& path,
                       LineFile::Mode mode) -> Result<void> {
    if (path.empty()) return {};
    auto opened = TRY(LineFile::open(path, mode));
    into.emplace(std::move(opened));
    return {};
  };
  const auto fresh = names.force ? LineFile::Mode::kReplace : LineFile::Mode::kNew;
  if (!names.lines.empty()) {
    auto lines = TRY(JsonLinesFile::open(names.lines, {.begins = kLinesBegin, .kept = false}));
    files.lines_.emplace(std::move(lines));
  }
  TRY(take(files.csv_, names.csv, fresh));
  TRY(take(files.trace_, names.trace, fresh));
  return files;
}

void RunFiles::write(std::optional<LineFile>& file, std::string_view text, Diagnostics& faults) {
  if (!file) return;
  if (auto added = file->add(text); !added)
    faults.insert(faults.end(), added.error().begin(), added.error().end());
}

// `text` ends in a newline.
void RunFiles::add_lines(std::string_view text, Diagnostics& faults) {
  if (!lines_ || text.empty()) return;
  text.remove_suffix(1);
  if (auto added = lines_->append(text); !added) {
    faults.insert(faults.end(), added.error().begin(), added.error().end());
    lines_.reset();  // said once
  }
}

Diagnostics RunFiles::begin(const RunTitle& title, const std::optional<Band>& band) {
  Diagnostics faults;
  add_lines(title_line(title, band), faults);
  write(trace_, trace_begin(title.command), faults);
  return faults;
}

Diagnostics RunFiles::add(const Observation& o) {
  Diagnostics faults;
  const double at = o.sample.seconds;
  if (lines_) {
    std::string text = sample_line(o.sample);
    if (o.ended_phase) text += phase_line(*o.ended_phase);
    for (const auto& crossing : o.crossings) text += crossing_line(crossing, at);
    add_lines(text, faults);
  }
  if (csv_) {
    std::string text;
    if (!csv_gpus_) {
      csv_gpus_ = o.sample.devices.size();
      text = csv_header(*csv_gpus_);
    }
    write(csv_, text + csv_row(o.sample, *csv_gpus_), faults);
  }
  if (trace_) {
    std::string text = trace_events(o.sample);
    if (o.ended_phase) text += trace_event(*o.ended_phase);
    for (const auto& crossing : o.crossings) text += trace_event(crossing, at);
    write(trace_, text, faults);
  }
  return faults;
}

Diagnostics RunFiles::end(const Summary& summary) {
  Diagnostics faults;
  if (!summary.phases.empty())
    add_lines(phase_line(summary.phases.back()) + to_json(summary), faults);
  std::string last;
  if (!summary.phases.empty()) last = trace_event(summary.phases.back());
  write(trace_, last + trace_end(), faults);
  return faults;
}

}  // namespace plimsoll::monitor
