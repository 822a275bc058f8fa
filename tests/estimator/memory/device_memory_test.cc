#include "estimator/memory/device_memory.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/mebibyte.h"

using namespace plimsoll;

namespace {

using plimsoll::test::kMiB;
using Kind = StepEvent::Kind;

StepEvent event(Kind kind, int32_t id = 0, int64_t bytes = 0) {
  return {.kind = kind, .id = id, .bytes = bytes};
}

// Sizes from 10 MiB up have segments of their own: reserved bytes can be added up by eye.
ReplayInput small_step() {
  ReplayInput input;
  input.resident = {20 * kMiB};
  input.inputs = {10 * kMiB};
  input.step = {event(Kind::kAllocate, 0, 100 * kMiB),
                event(Kind::kWorkspace, 0),
                event(Kind::kAllocate, 1, 30 * kMiB),
                event(Kind::kFree, 0),
                event(Kind::kUpdate),
                event(Kind::kFree, 1)};
  input.workspaces = {{.bytes = 40 * kMiB}};
  return input;
}

int64_t reserved(const ReplayInput& input) {
  return device_memory(input, CachingRules{}, {})->reserved_bytes;
}

}  // namespace

TEST_CASE("device memory: one step by eye") {
  ReplayInput input = small_step();
  input.steps = 1;
  // 20 resident, 10 input, 100 activation, 40 workspace, which later serves the 30.
  CHECK(reserved(input) == 170 * kMiB);
  input.steps = 3;
  // The second batch arrives before the first one dies and breaks the workspace's 40.
  CHECK(reserved(input) == 210 * kMiB);
  const auto memory = *device_memory(input, CachingRules{}, {.bytes = 500 * kMiB});
  CHECK(memory.device_bytes == 710 * kMiB);
  CHECK(memory.allocated_peak_bytes == 170 * kMiB);
  // Scratch that no choice is behind takes as much, and is nothing of the range.
  for (WorkspaceUse& use : input.workspaces) use.exact = true;
  const auto exact = *device_memory(input, CachingRules{}, {.bytes = 500 * kMiB});
  CHECK(exact.device_bytes == memory.device_bytes);
  CHECK(exact.device_range.high < memory.device_range.high);
}

TEST_CASE("device memory: residents come beside what loads them") {
  ReplayInput input;
  input.resident = {20 * kMiB, 30 * kMiB};
  input.loading = {event(Kind::kAllocate, 0, 40 * kMiB), event(Kind::kKept, 1),
                   event(Kind::kFree, 0)};
  input.step = {event(Kind::kAllocate, 0, 20 * kMiB), event(Kind::kFree, 0)};
  const auto memory = *device_memory(input, CachingRules{}, {});
  REQUIRE(memory.loading);
  CHECK(memory.loading->allocated_peak_bytes == 70 * kMiB);
  CHECK(memory.loading->reserved_bytes == 70 * kMiB);
  // The 20 that come behind them and those of the step lie in the 40.
  CHECK(memory.reserved_bytes == 70 * kMiB);
  CHECK(memory.steady_allocated_bytes == 70 * kMiB);
  // Given back, the 40 are taken in part: 30, 20 and 60.
  input.step.front().bytes = 60 * kMiB;
  CHECK(reserved(input) == 130 * kMiB);
  input.loading_empties_cache = true;
  CHECK(reserved(input) == 110 * kMiB);
  input.loading[1].id = 2;
  CHECK_FALSE(device_memory(input, CachingRules{}, {}));
}

// Sizes as above; a pass of 60 over a batch of 10, behind steps that keep no state.
TEST_CASE("device memory: passes between steps run in what the steps have reserved") {
  ReplayInput input;
  input.resident = {20 * kMiB};
  input.inputs = {10 * kMiB};
  input.step = {event(Kind::kAllocate, 0, 100 * kMiB), event(Kind::kFree, 0)};
  const int64_t steps = reserved(input);
  PassesBetween between{.inputs = {10 * kMiB},
                        .events = {event(Kind::kAllocate, 0, 60 * kMiB), event(Kind::kFree, 0)},
                        .workspaces = {}};
  const auto of = [&](const PassesBetween& passes) {
    ReplayInput with = input;
    with.between = passes;
    return *device_memory(with, CachingRules{}, {});
  };
  // The last batch of the training is still there.
  const MemoryEstimate smaller = of(between);
  REQUIRE(smaller.evaluation);
  CHECK(smaller.evaluation->allocated_peak_bytes == (20 + 10 + 10 + 60) * kMiB);
  CHECK(smaller.reserved_bytes == steps);
  CHECK(smaller.steady_allocated_bytes == (20 + 10 + 100) * kMiB);
  between.events.front().bytes = 200 * kMiB;
  const MemoryEstimate larger = of(between);
  CHECK(larger.evaluation->allocated_peak_bytes == (20 + 10 + 10 + 200) * kMiB);
  CHECK(larger.reserved_bytes > steps);
  CHECK(larger.allocated_peak_bytes == larger.evaluation->allocated_peak_bytes);
  CHECK(larger.steady_allocated_bytes == smaller.steady_allocated_bytes);
  // Of five passes: four that are joined and the last one's, and all joined once more.
  between.outputs = 50 * kMiB;
  const auto gathered = [&](int64_t passes) {
    between.gathered = passes;
    return of(between).evaluation->allocated_peak_bytes;
  };
  CHECK(gathered(1) == larger.evaluation->allocated_peak_bytes);
  CHECK(gathered(2) == (20 + 20 + 50 + 200) * kMiB);  // the pass, beside what the first gave
  CHECK(gathered(5) == (20 + 20 + 10 * 50) * kMiB);
}

TEST_CASE("device memory: what the first step takes before its kernels leaves its segments") {
  ReplayInput input = small_step();
  input.inputs = {};
  // 20 resident, 100 activation, 40 workspace, which later serves the 30.
  CHECK(reserved(input) == 160 * kMiB);
  // The activation lies in what was taken before; another stream's segment is no use to it.
  input.at_first = {{.bytes = 100 * kMiB}};
  CHECK(reserved(input) == 160 * kMiB);
  input.at_first = {{.bytes = 150 * kMiB}};
  CHECK(reserved(input) == 170 * kMiB);
  input.at_first = {{.stream = 1, .bytes = 100 * kMiB}};
  CHECK(reserved(input) == 260 * kMiB);
}

// TensorFlow gives each algorithm scratch memory of its own while it times them, one after the
// other: the sum of doubled regions differs from what the largest alone would leave.
TEST_CASE("device memory: algorithms tried one by one shape the regions") {
  ReplayInput input = small_step();
  input.resident = {1 * kMiB};
  input.inputs = {};
  input.step = {event(Kind::kWorkspace, 0)};
  input.workspaces = {{.bytes = 0, .largest = 60 * kMiB}};
  const BfcRules rules;
  // A region of 1 MiB, and one of 64.
  CHECK(device_memory(input, rules, {})->reserved_bytes == 65 * kMiB);
  input.workspaces = {{.bytes = 0, .largest = 60 * kMiB, .tried = {0, 30 * kMiB, 60 * kMiB}}};
  // 1, 32 and 64.
  CHECK(device_memory(input, rules, {})->reserved_bytes == 97 * kMiB);
  // Where the card has less, the larger algorithm is not tried, and the last region is what is
  // left.
  input.capacity = 50 * kMiB;
  CHECK(device_memory(input, rules, {})->reserved_bytes == 33 * kMiB);
}

TEST_CASE("device memory: the optimizer's state is born in the holes of step 0") {
  ReplayInput input = small_step();
  input.optimizer_state = {20 * kMiB};
  const auto with_state = replay(*replay_events(input), CachingRules{});
  // In step 0 it takes a part of the free 100 MiB; the activation no longer fits there.
  CHECK(with_state->marks[0].reserved == 170 * kMiB);
  CHECK(with_state->marks[1].reserved > 180 * kMiB);
  CHECK(with_state->marks[0].allocated == (20 + 10 + 20) * kMiB);
}

TEST_CASE("device memory: buffers of libraries") {
  ReplayInput with_library = small_step();
  with_library.kept = {10 * kMiB};
  with_library.step.insert(with_library.step.begin(), event(Kind::kKept, 0));
  CHECK(reserved(with_library) == 220 * kMiB);  // once, though it is reached three times
}

TEST_CASE("device memory: timed libraries use their largest scratch once and empty the cache") {
  ReplayInput input = small_step();
  input.workspaces[0].largest = 300 * kMiB;
  const auto result = replay(*replay_events(input), CachingRules{});
  CHECK(result->reserved_peak == (20 + 10 + 100 + 300) * kMiB);
  CHECK(result->marks[0].reserved == 170 * kMiB);
  CHECK(result->reserved_end == 210 * kMiB);
}

TEST_CASE("device memory: a prefetching loader has pools of its own") {
  ReplayInput input = small_step();
  input.prefetch = 1;
  input.loader_stream = 1;
  input.staging = {12 * kMiB};
  // Three batches at most: the last step's, this one's, the next one's; and the staging buffer,
  // which the third batch reuses.
  CHECK(reserved(input) == (20 + 100 + 40 + 2 * 10 + 12 + 10) * kMiB);
}

TEST_CASE("device memory: tensors that live on into the next step") {
  ReplayInput input;
  input.step = {event(Kind::kFree, 0), event(Kind::kAllocate, 0, 10 * kMiB)};
  const auto result = replay(*replay_events(input), CachingRules{});
  CHECK(result->reserved_peak == 10 * kMiB);
  CHECK(result->marks[2].allocated == 10 * kMiB);
  input.step.push_back(event(Kind::kFree, 0));
  CHECK(replay_events(input).error()[0].code == "E902");
  input.step = {event(Kind::kFree, 5)};
  CHECK(replay_events(input).error()[0].code == "E902");
}

TEST_CASE("device memory: the range is wide where the workspace is") {
  const Context context{.bytes = 400 * kMiB, .low = 300 * kMiB, .high = 600 * kMiB};
  ReplayInput input = small_step();
  const auto with = *device_memory(input, CachingRules{}, context);
  // Context and allocator err independently.
  const double half = 2.1 * (0.02 * static_cast<double>(with.device_bytes) + 40.0 * kMiB);
  CHECK(with.device_range.high == with.device_bytes + std::llround(std::hypot(half, 200.0 * kMiB)));
  CHECK(with.device_range.low < with.device_bytes - 100 * kMiB);
  const auto outline =
      *device_memory(input, CachingRules{}, {.bytes = 400 * kMiB}, {.spread = 0.5});
  CHECK(outline.device_range.low == outline.device_bytes - outline.reserved_bytes / 2);
  CHECK(outline.device_range.high == outline.device_bytes + outline.reserved_bytes / 2);
  input.workspaces[0].bytes = 0;
  const auto without = *device_memory(input, CachingRules{}, context);
  CHECK(without.device_range.high - without.device_bytes <
        with.device_range.high - with.device_bytes);
}

TEST_CASE("device memory: the smallest device takes the smaller workspaces") {
  ReplayInput input = small_step();
  const auto memory = *device_memory(input, CachingRules{}, {.bytes = 100 * kMiB}, {}, true);
  // Resident 20, activation 100; batches and gradient share 40 until, in the third step, no hole
  // of 30 is left for the gradient.
  CHECK(memory.minimum_bytes == (100 + 20 + 100 + 40 + 30) * kMiB);
  input.workspaces[0].least = 40 * kMiB;
  const auto stubborn = *device_memory(input, CachingRules{}, {.bytes = 100 * kMiB}, {}, true);
  CHECK(*stubborn.minimum_bytes > *memory.minimum_bytes);
}
