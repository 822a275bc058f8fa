#include "estimator/app/report/trace.h"

#include "graph/json/writer.h"

namespace plimsoll {
namespace {

// The format counts in microseconds.
double microseconds(int64_t ns) { return static_cast<double>(ns) / 1e3; }

void begin_event(JsonWriter& out, std::string_view name, std::string_view kind, int64_t at_ns) {
  out.begin_object();
  out.key("name").string(name);
  out.key("ph").string(kind);
  out.key("ts").real(microseconds(at_ns));
  out.key("pid").integer(1);
}

}  // namespace

std::string to_chrome_trace(const Trace& trace) {
  JsonWriter out;
  out.begin_object();
  out.key("displayTimeUnit").string("ms");
  out.key("traceEvents").begin_array();
  for (int phase = 0; phase < kPhaseCount; ++phase) {
    begin_event(out, "thread_name", "M", 0);
    out.key("tid").integer(phase);
    out.key("args").begin_object();
    out.key("name").string(name(static_cast<Phase>(phase))).end_object();
    out.end_object();
  }
  for (const TraceLaunch& launch : trace.launches) {
    begin_event(out, launch.kernel, "X", launch.start_ns);
    out.key("tid").integer(static_cast<int>(launch.phase));
    out.key("dur").real(microseconds(launch.duration_ns));
    out.key("args").begin_object();
    out.key("node").string(launch.node).end_object();
    out.end_object();
  }
  for (const TraceSample& sample : trace.samples) {
    begin_event(out, "live bytes", "C", sample.at_ns);
    out.key("args").begin_object();
    for (int role = 0; role < kRoleCount; ++role) {
      const int64_t bytes = sample.live[static_cast<size_t>(role)];
      if (bytes > 0) out.key(name(static_cast<Role>(role))).integer(bytes);
    }
    out.end_object().end_object();
  }
  out.end_array().end_object();
  return out.take() + "\n";
}

}  // namespace plimsoll
