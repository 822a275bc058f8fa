#include "estimator/memory/demand.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace plimsoll;

TEST_CASE("demand: scratch memory is that of the algorithms that need least") {
  WorkspacePlan workspaces;
  workspaces.uses = {{.bytes = 500, .largest = 900, .tried = {500, 900}, .least = 20},
                     {.bytes = 0, .least = 20}};
  const WorkspacePlan least = with_least_scratch(workspaces);
  REQUIRE(least.uses.size() == 2);
  CHECK(least.uses[0].bytes == 20);
  CHECK(least.uses[0].largest == 0);  // what was timed with more was no candidate
  CHECK(least.uses[0].tried.empty());
  CHECK(least.uses[1].bytes == 0);
}

TEST_CASE("demand: scratch memory that was chosen is not refused") {
  WorkspacePlan workspaces;
  workspaces.uses = {{.bytes = 500, .least = 20}};
  CHECK(with_chosen_scratch(workspaces).uses[0].least == 500);
}

TEST_CASE("demand: scratch memory gives way to a card's end, but for what is needed") {
  MemoryEstimate least;
  least.device_range = {600, 800};
  least.minimum_bytes = 500;
  least.grown = GrownMemory{900, {650, 1000}};
  const auto high = [&](int64_t bytes, int64_t range_high, int64_t usable) {
    MemoryEstimate memory;
    memory.device_bytes = bytes;
    memory.device_range = {bytes - 50, range_high};
    memory.minimum_bytes = bytes;
    memory.grown = GrownMemory{1000, {700, 1200}};
    give_way(memory, least, usable);
    CHECK(memory.device_range.low == std::min<int64_t>(600, bytes - 50));
    CHECK(memory.minimum_bytes == 500);
    CHECK(memory.grown->range.low == 650);
    return memory.device_range.high;
  };
  CHECK(high(900, 1100, 2000) == 1100);  // there is room
  CHECK(high(900, 1100, 1000) == 1000);  // no more than the card has
  CHECK(high(700, 1100, 750) == 800);    // the least may need more than it has
  CHECK(high(900, 1100, 700) == 900);    // it does not fit
}

TEST_CASE("demand: what is needed takes the place of what is taken, and its range is its own") {
  MemoryEstimate memory;
  memory.allocated_peak_bytes = 850;
  memory.reserved_bytes = 900;
  memory.device_bytes = 1000;
  memory.context_bytes = 100;
  memory.device_range = {600, 1900};
  memory.minimum_bytes = 900;
  take_demand(memory, {.bytes = 100, .low = 40, .high = 180}, .1);
  REQUIRE(memory.grown.has_value());
  CHECK(memory.grown->bytes == 1000);
  CHECK(memory.grown->range.low == 800);  // of what is needed: nothing takes less
  CHECK(memory.grown->range.high == 1900);
  CHECK(memory.device_bytes == 900);
  CHECK(memory.reserved_bytes == 800);
  CHECK(memory.allocated_peak_bytes == 800);
  CHECK(memory.device_range.low == 800);  // 80 and 60 beside it, which do not depend on each other
  CHECK(memory.device_range.high == 1013);  // 80 and 80
  // A context that is known: none of the range is its own.
  memory.minimum_bytes = 500;
  take_demand(memory, {.bytes = 100}, .1);
  CHECK(memory.device_range.low == 460);
  CHECK(memory.device_range.high == 540);
  CHECK(memory.allocated_peak_bytes == 400);
}

TEST_CASE("demand: tensors have the most scratch memory that was timed beside them, or none") {
  Step step;
  const auto event = [](Event::Kind kind, uint32_t id) {
    return Event{.kind = kind, .phase = Phase::kForward, .id = id, .node = kNoNode};
  };
  step.events = {event(Event::Kind::kAllocate, 0), event(Event::Kind::kLaunch, 1),
                 event(Event::Kind::kLaunch, 0)};
  const std::vector<BytesByRole> live = {{100}, {100, 200}, {50}};
  WorkspacePlan workspaces;
  workspaces.uses = {{.bytes = 350, .largest = 900}, {.bytes = 40}};  // by kernel
  constexpr int64_t kSteady = 500;  // its allocator's blocks are larger than what was asked for
  const Range range = tensors_range(kSteady, step, live, workspaces, .1);
  CHECK(range.low == 270);
  CHECK(range.high == 1155);       // 550 more
  workspaces.uses[0].largest = 0;  // nothing was timed
  CHECK(tensors_range(kSteady, step, live, workspaces, .1).high == 550);
}
