#include "estimator/time/step_lanes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "estimator/request/platform.h"
#include "estimator/time/step_conditions.h"
#include "graph/parallel/axis_word.h"
#include "graph/parallel/timetable.h"

namespace plimsoll {
namespace {

constexpr std::string_view kInputCopy = "input copy", kOtherStages = "other stages", kHost = "host";
constexpr double kFinest = 1. / 400;     // of a step: shorter spans are joined
constexpr int64_t kMostPasses = 20'000;  // of micro-batches in all stages

std::string_view word(StepPhase phase) {
  constexpr std::array<std::string_view, kStepPhaseCount> kWords = {"forward", "loss", "backward",
                                                                    "update"};
  return kWords[static_cast<size_t>(phase)];
}

std::string_view word(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all-reduce";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kReduce:
      return "reduce";
    case CollectiveKind::kAllGather:
      return "all-gather";
    case CollectiveKind::kReduceScatter:
      return "reduce-scatter";
    case CollectiveKind::kAllToAll:
      return "all-to-all";
    case CollectiveKind::kSendReceive:
      return "send and receive";
    case CollectiveKind::kToHost:
      return "to the host";
    case CollectiveKind::kFromHost:
      return "from the host";
    case CollectiveKind::kOnHost:
      return "on the host";
  }
  return "";
}

struct TimedSpan {
  double begin = 0, end = 0;
  std::string_view what;
  int64_t count = 1;
};

// Spans of a lane in their order: those that are short together are one.
class SpanJoiner {
 public:
  explicit SpanJoiner(double step) : finest_(kFinest * step) {}

  void add(const TimedSpan& span) {
    if (span.end - begin_ > finest_) flush();
    if (open_.empty()) begin_ = span.begin;
    end_ = span.end;
    busy_ += span.end - span.begin;
    count_ += span.count;
    open_.emplace(span.what);
  }
  std::vector<LaneSpan> take() {
    flush();
    return std::move(spans_);
  }

 private:
  void flush() {
    if (open_.empty()) return;
    std::string what;
    for (const std::string_view one : open_) what += (what.empty() ? "" : ", ") + std::string(one);
    spans_.push_back({.begin_ns = to_ns(begin_),
                      .end_ns = to_ns(end_),
                      .busy_ns = to_ns(busy_),
                      .what = std::move(what),
                      .count = count_});
    open_.clear();
    busy_ = 0;
    count_ = 0;
  }

  double finest_, begin_ = 0, end_ = 0, busy_ = 0;
  int64_t count_ = 0;
  std::set<std::string_view> open_;
  std::vector<LaneSpan> spans_;
};

using PhaseSeconds = std::array<double, kStepPhaseCount>;

// Seconds of the device by segment between exchange points, and by phase.
std::vector<PhaseSeconds> segments_of(const StepTimeInput& input, const StepTime& step,
                                      const DeviceRates& rates) {
  std::vector<PhaseSeconds> segments(input.exchange.size() + 1);
  for (size_t i = 0; i < input.kernels.size(); ++i) {
    const auto& [count, phase, dispatched, segment] = input.kernels[i].launches;
    segments[segment][static_cast<size_t>(phase)] +=
        in_step(step.kernels[i], input.habits, rates) * static_cast<double>(count) * step.slowdown;
  }
  return segments;
}

// The time of exposed_exchange(), of work and waits alone, on the step's clock: the batch is copied
// before them; other stages are waited for where the update begins.
class StepClock {
 public:
  StepClock(const StepTime& step, double update) : step_(step), update_(update) {}
  double operator()(double seconds) const {
    return step_.input_copy + seconds + (seconds > update_ ? step_.bubble : 0);
  }

 private:
  const StepTime& step_;
  double update_;
};

struct GpuLane {
  std::vector<LaneSpan> spans;
  double update = 0;  // in seconds of work and waits: where the update begins
};

GpuLane gpu_lane(const StepTimeInput& input, const StepTime& step, const DeviceRates& rates,
                 const std::vector<double>& waits) {
  GpuLane lane;
  SpanJoiner joined(step.seconds);
  double now = 0, shift = 0;
  const auto run = [&](std::string_view what, double seconds) {
    if (seconds <= 0) return;
    joined.add({now + shift, now + shift + seconds, what});
  };
  run(kInputCopy, step.input_copy);
  shift = step.input_copy;
  bool updates = false;
  const auto begin_update = [&] {
    updates = true;
    lane.update = now;
    run(kOtherStages, step.bubble);
    shift += step.bubble;
  };
  const std::vector<PhaseSeconds> segments = segments_of(input, step, rates);
  for (size_t i = 0; i < segments.size(); ++i) {
    for (size_t phase = 0; phase < segments[i].size(); ++phase) {
      const double seconds = segments[i][phase];
      if (seconds <= 0) continue;
      const auto at = static_cast<StepPhase>(phase);
      if (at == StepPhase::kUpdate && !updates) begin_update();
      run(word(at), seconds);
      now += seconds;
    }
    if (i < waits.size()) now += waits[i];
  }
  if (!updates) begin_update();
  run(kHost, step.fixed + step.load);
  lane.spans = joined.take();
  return lane;
}

std::vector<AxisLane> axis_lanes(const StepTimeInput& input, const ExchangeCourse& course,
                                 const StepClock& clock, double step, const Platform& platform,
                                 const ParallelPlan& plan) {
  struct Sums {
    AxisLane lane;
    double link_bytes = 0, network_bytes = 0, busy = 0, waited = 0;
    SpanJoiner spans;
  };
  std::map<std::pair<Axis, bool>, Sums> lanes;  // by axis, and whether others join it
  for (const ExchangeSpan& span : course.spans) {
    const ExchangePoint& point = input.exchange[span.point];
    const GroupExchange& among = input.axes[point.group()];
    if (is_of_host(point.kind)) continue;
    const auto [per_node, nodes] = among.group;
    if (per_node * nodes <= 1) continue;
    Sums& sums =
        lanes.try_emplace({point.axis, point.joined}, Sums{{}, 0, 0, 0, 0, SpanJoiner(step)})
            .first->second;
    sums.lane.axis = parallel::axis_word(point.axis, plan);
    sums.lane.ranks = per_node * nodes;
    sums.lane.per_node = per_node;
    sums.lane.collectives += point.times;
    const auto times = static_cast<double>(point.times);
    const auto bytes = static_cast<double>(point.bytes) * times;
    const auto within = static_cast<double>(per_node), machines = static_cast<double>(nodes);
    if (per_node > 1) sums.link_bytes += share_of_link(point.kind, within) * bytes;
    // Of its machine's bytes each GPU of the group sends a part.
    if (nodes > 1) sums.network_bytes += share_of_link(point.kind, machines) * bytes / within;
    sums.busy += times * collective_seconds(point, *input.scheme, among);
    sums.waited += span.waited;
    sums.spans.add({clock(span.begin), clock(span.end), word(point.kind), point.times});
  }
  std::vector<AxisLane> all;
  for (auto& [group, sums] : lanes) {
    AxisLane& lane = all.emplace_back(std::move(sums.lane));
    if (sums.link_bytes > 0 && platform.link) lane.link = platform.link->name;
    if (sums.network_bytes > 0 && platform.network) lane.network = platform.network->name;
    lane.link_bytes = std::llround(sums.link_bytes);
    lane.network_bytes = std::llround(sums.network_bytes);
    lane.busy_ns = to_ns(sums.busy);
    lane.waited_ns = to_ns(sums.waited);
    lane.spans = sums.spans.take();
  }
  return all;
}

std::string_view word(Pass pass) {
  switch (pass) {
    case Pass::kForward:
      return word(StepPhase::kForward);
    case Pass::kBackwardWeights:
      return "gradients of weights";
    default:
      return word(StepPhase::kBackward);
  }
}

std::vector<StageLane> stage_lanes(const StepTimeInput& input, const StepTime& step) {
  const parallel::Stage& all = input.pipeline;
  if (all.stages == 1 || 2 * all.stages * all.micro_batches * all.chunks > kMostPasses) return {};
  const auto at = [&](StepPhase phase) { return step.phase[static_cast<size_t>(phase)]; };
  const double gpu = step.gpu - at(StepPhase::kUpdate);
  if (gpu <= 0) return {};
  const double each = step.passes / static_cast<double>(all.micro_batches);
  const double forward = (at(StepPhase::kForward) + at(StepPhase::kLoss)) / gpu;
  const auto table = parallel::timetable(input.schedule, all,
                                         {.forward = forward * each,
                                          .backward = (1 - forward) * each,
                                          .weights = step.weights * each,
                                          .others = input.other_stages});
  std::vector<StageLane> lanes;
  for (const auto& works : table) {
    SpanJoiner joined(step.seconds);
    for (const parallel::TimedWork& work : works)
      joined.add({step.input_copy + work.begin, step.input_copy + work.end, word(work.work.pass)});
    lanes.push_back({.stage = static_cast<int64_t>(lanes.size()) + 1, .spans = joined.take()});
  }
  return lanes;
}

}  // namespace

StepLanes step_lanes(const StepTimeInput& input, const StepTime& step, const DeviceRates& rates,
                     const Platform& platform, const ParallelPlan& plan) {
  std::vector<double> work;
  for (const PhaseSeconds& phases : segments_of(input, step, rates)) {
    double seconds = 0;
    for (const double one : phases) seconds += one;
    work.push_back(seconds);
  }
  ExchangeCourse course;
  exposed_exchange(*input.scheme, input.exchange, work, input.axes, 1, &course);
  GpuLane gpu = gpu_lane(input, step, rates, course.waits);
  const StepClock clock(step, gpu.update);
  return {.gpu = std::move(gpu.spans),
          .axes = axis_lanes(input, course, clock, step.seconds, platform, plan),
          .stages = stage_lanes(input, step)};
}

}  // namespace plimsoll
