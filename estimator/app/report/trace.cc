#include "estimator/app/report/trace.h"

#include <fmt/format.h>

#include "graph/json/writer.h"

namespace plimsoll {
namespace {

// The format counts in microseconds.
double microseconds(int64_t ns) { return static_cast<double>(ns) / 1e3; }

constexpr int kLaunches = 1, kLanes = 2;  // processes

void begin_event(JsonWriter& out, std::string_view name, std::string_view kind, int64_t at_ns,
                 int process = kLaunches) {
  out.begin_object();
  out.key("name").string(name);
  out.key("ph").string(kind);
  out.key("ts").real(microseconds(at_ns));
  out.key("pid").integer(process);
}

void name_track(JsonWriter& out, std::string_view kind, int process, int track,
                std::string_view title) {
  begin_event(out, kind, "M", 0, process);
  out.key("tid").integer(track);
  out.key("args").begin_object();
  out.key("name").string(title).end_object();
  out.end_object();
}

void add_lane(JsonWriter& out, int track, std::string_view title,
              const std::vector<LaneSpan>& spans) {
  name_track(out, "thread_name", kLanes, track, title);
  for (const LaneSpan& span : spans) {
    begin_event(out, span.what, "X", span.begin_ns, kLanes);
    out.key("tid").integer(track);
    out.key("dur").real(microseconds(span.end_ns - span.begin_ns));
    out.key("args").begin_object();
    out.key("count").integer(span.count);
    out.key("busy_us").real(microseconds(span.busy_ns)).end_object();
    out.end_object();
  }
}

void add_lanes(JsonWriter& out, const StepLanes& lanes) {
  name_track(out, "process_name", kLanes, 0, "the step, with what it waits for");
  int track = 0;
  add_lane(out, track++, "GPU", lanes.gpu);
  for (const AxisLane& lane : lanes.axes)
    add_lane(out, track++, fmt::format("{} of {} GPUs", lane.axis, lane.ranks), lane.spans);
  for (const StageLane& lane : lanes.stages)
    add_lane(out, track++, fmt::format("stage {}", lane.stage), lane.spans);
}

}  // namespace

std::string to_chrome_trace(const Trace& trace, const std::optional<StepLanes>& lanes) {
  JsonWriter out;
  out.begin_object();
  out.key("displayTimeUnit").string("ms");
  out.key("traceEvents").begin_array();
  for (int phase = 0; phase < kPhaseCount; ++phase)
    name_track(out, "thread_name", kLaunches, phase, name(static_cast<Phase>(phase)));
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
  if (lanes) add_lanes(out, *lanes);
  out.end_array().end_object();
  return out.take() + "\n";
}

}  // namespace plimsoll
