#include "estimator/time/step_lanes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/app/report/trace.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

// GPT-2 on eight L4: two stages, two GPUs for each operator, two that shard.
Request on_eight() {
  Request request = test::request("builtin:gpt2", "l4", 2);
  request.dims["sequence"] = 128;
  request.gpu_count = 8;
  request.parallel.axes[static_cast<size_t>(Axis::kStage)] = 2;
  request.parallel.axes[static_cast<size_t>(Axis::kTensor)] = 2;
  request.parallel.fsdp = true;
  request.recipe.accumulate = 4;
  request.detail = true;
  return request;
}

const TimeEstimate& timed() {
  static const TimeEstimate kTime = test::answer(on_eight()).time;
  REQUIRE(kTime.lanes);
  return kTime;
}

int64_t busy_of(const std::vector<LaneSpan>& spans) {
  int64_t sum = 0;
  for (const LaneSpan& span : spans) sum += span.busy_ns;
  return sum;
}

// Nanoseconds are rounded span by span.
doctest::Approx about(int64_t ns) { return doctest::Approx(static_cast<double>(ns)).epsilon(1e-5); }

}  // namespace

TEST_CASE("step lanes: the GPU's lane is the step, and empty where it waits for exchanges") {
  const TimeEstimate& t = timed();
  const std::vector<LaneSpan>& gpu = t.lanes->gpu;
  REQUIRE(gpu.size() > 10);
  CHECK(gpu.front().begin_ns == 0);
  CHECK(static_cast<double>(gpu.back().end_ns) == about(t.step_ns));
  CHECK(static_cast<double>(busy_of(gpu)) == about(t.step_ns - t.communication_ns));
  for (size_t i = 1; i < gpu.size(); ++i) CHECK(gpu[i].begin_ns >= gpu[i - 1].end_ns);
  int64_t bubble = 0;
  for (const LaneSpan& span : gpu) bubble += span.what == "other stages" ? span.busy_ns : 0;
  CHECK(static_cast<double>(bubble) == about(t.bubble_ns));
}

TEST_CASE("step lanes: axes have what the step waits for, and what goes over which link") {
  const TimeEstimate& t = timed();
  std::vector<std::string> axes;
  int64_t waited = 0;
  for (const AxisLane& lane : t.lanes->axes) {
    axes.push_back(lane.axis);
    waited += lane.waited_ns;
    CHECK(lane.ranks == 2);
    CHECK(lane.link != "");
    CHECK(lane.network == "");
    CHECK(lane.link_bytes > 0);
    CHECK(lane.waited_ns <= lane.busy_ns);
    for (size_t i = 1; i < lane.spans.size(); ++i)
      CHECK(lane.spans[i].begin_ns >= lane.spans[i - 1].end_ns);
    CHECK(lane.spans.back().end_ns <= t.step_ns);
    int64_t count = 0;
    for (const LaneSpan& span : lane.spans) count += span.count;
    CHECK(count == lane.collectives);
  }
  CHECK(axes == std::vector<std::string>{"tp", "fsdp", "pp"});
  CHECK(static_cast<double>(waited) == about(t.communication_ns));
}

TEST_CASE("step lanes: machines are joined by their network, of which a GPU carries a part") {
  Request request = on_eight();
  request.nodes = 2;
  request.network = "infiniband-ndr";
  const Estimate e = test::answer(request);
  for (const AxisLane& lane : e.time.lanes->axes) {
    CAPTURE(lane.axis);
    const bool between = lane.axis == "pp";
    CHECK(lane.per_node == (between ? 1 : 2));
    CHECK((lane.network_bytes > 0) == between);
    CHECK((lane.network != "") == between);
    CHECK((lane.link_bytes > 0) == !between);
  }
}

TEST_CASE("step lanes: stages run all passes, and end with the bubble") {
  const TimeEstimate& t = timed();
  REQUIRE(t.lanes->stages.size() == 2);
  int64_t end = 0, passes = 0;
  for (const StageLane& lane : t.lanes->stages) {
    int64_t count = 0;
    for (const LaneSpan& span : lane.spans) count += span.count;
    CHECK(count == 8);
    end = std::max(end, lane.spans.back().end_ns);
    passes = busy_of(lane.spans);
  }
  CHECK(static_cast<double>(end - t.input_copy_ns) == about(passes + t.bubble_ns));
}

TEST_CASE("step lanes: one GPU has none, nor has an answer that nobody draws") {
  Request request = on_eight();
  request.detail = false;
  CHECK_FALSE(test::answer(request).time.lanes);
  Request alone = test::request("builtin:alexnet", "l4", 8);
  alone.detail = true;
  CHECK_FALSE(test::answer(alone).time.lanes);
}

TEST_CASE("step lanes: a Chrome trace has a track for each") {
  Request request = on_eight();
  request.trace = true;
  const Estimate e = test::answer(request);
  const auto json = nlohmann::json::parse(to_chrome_trace(*e.trace, e.time.lanes));
  std::vector<std::string> tracks;
  for (const auto& event : json["traceEvents"]) {
    if (event["pid"] == 2 && event["name"] == "thread_name")
      tracks.push_back(event["args"]["name"]);
  }
  CHECK(tracks == std::vector<std::string>{"GPU", "tp of 2 GPUs", "fsdp of 2 GPUs", "pp of 2 GPUs",
                                           "stage 1", "stage 2"});
}

}  // namespace plimsoll
