// StepLanes: what one of several GPUs does over a step, and what goes over which link meanwhile:
// the figures of exposed_exchange() and bubble_of() as spans of time, for pictures. Nanoseconds
// since the step began.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/json/fields.h"

namespace plimsoll {

struct DeviceRates;
struct ParallelPlan;
struct Platform;
struct StepTime;
struct StepTimeInput;

// Neighbours that are too short for a picture are one.
struct LaneSpan {
  int64_t begin_ns = 0, end_ns = 0;
  int64_t busy_ns = 0;  // of all that is in it
  std::string what;     // "backward", "all-gather, reduce-scatter"
  int64_t count = 1;    // collectives, or passes of micro-batches
};

inline void describe(Fields& f, LaneSpan& s) {
  f("begin_ns", s.begin_ns);
  f("end_ns", s.end_ns);
  f("busy_ns", s.busy_ns, "shorter where several spans are one");
  f("what", s.what);
  f("count", s.count, {.low = 1});
}

// The collectives along one axis of the mesh, one after the other.
struct AxisLane {
  std::string axis;                           // "tp"
  int64_t ranks = 1;                          // that take part
  int64_t per_node = 1;                       // ... in one machine
  std::string link, network;                  // within a machine, between machines; empty: not used
  int64_t collectives = 0;                    // in a step
  int64_t link_bytes = 0, network_bytes = 0;  // that a GPU sends in a step
  int64_t busy_ns = 0;                        // of all collectives
  int64_t waited_ns = 0;                      // ... what the GPU waits for
  std::vector<LaneSpan> spans;
};

inline void describe(Fields& f, AxisLane& l) {
  f("axis", l.axis);
  f("ranks", l.ranks, {.meaning = "GPUs that take part", .low = 2});
  f("per_node", l.per_node, {.meaning = "of these, GPUs of one machine", .low = 1});
  f("link", l.link, {.meaning = "within a machine", .null_where = l.link.empty()});
  f("network", l.network, {.meaning = "between machines", .null_where = l.network.empty()});
  f("collectives", l.collectives, "in a step");
  f("link_bytes", l.link_bytes, "that a GPU sends over the link in a step");
  f("network_bytes", l.network_bytes, "that a GPU sends over the network in a step");
  f("busy_ns", l.busy_ns, "of all collectives");
  f("waited_ns", l.waited_ns,
    "of busy_ns, what the GPU waits for; the rest runs in parallel with kernels");
  f("spans", l.spans, "passes that run alike are one pass of all their time");
}

// The passes of micro-batches through one stage of a pipeline; between them it waits for others.
struct StageLane {
  int64_t stage = 1;  // counted from the input on
  std::vector<LaneSpan> spans;
};

inline void describe(Fields& f, StageLane& l) {
  f("stage", l.stage, {.low = 1});
  f("spans", l.spans);
}

struct StepLanes {
  std::vector<LaneSpan> gpu;  // between its spans it waits for exchanges
  std::vector<AxisLane> axes;
  std::vector<StageLane> stages;
};

inline void describe(Fields& f, StepLanes& l) {
  f("gpu", l.gpu, "of the slowest GPU; between its spans it waits for exchanges");
  f("axes", l.axes);
  f("stages", l.stages,
    {.meaning = "of a pipeline: all but the slowest are alike", .absent_where = l.stages.empty()});
}

// `input` and `step` as of step_time(). Cost: linear in kernels, exchange points, and passes of all
// stages; of a pipeline of very many passes stages are left out.
StepLanes step_lanes(const StepTimeInput& input, const StepTime& step, const DeviceRates& rates,
                     const Platform& platform, const ParallelPlan& plan);

}  // namespace plimsoll
