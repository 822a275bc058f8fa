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
  DeviceMemory least;
  least.low = 600;
  least.high = 800;
  least.minimum = 500;
  const auto high = [&](int64_t bytes, int64_t range_high, int64_t usable) {
    DeviceMemory memory;
    memory.device_bytes = bytes;
    memory.low = bytes - 50;
    memory.high = range_high;
    memory.minimum = bytes;
    give_way(memory, least, usable);
    CHECK(memory.low == std::min<int64_t>(600, bytes - 50));
    CHECK(memory.minimum == 500);
    return memory.high;
  };
  CHECK(high(900, 1100, 2000) == 1100);  // there is room
  CHECK(high(900, 1100, 1000) == 1000);  // no more than the card has
  CHECK(high(700, 1100, 750) == 800);    // the least may need more than it has
  CHECK(high(900, 1100, 700) == 900);    // it does not fit
}

TEST_CASE("demand: what is needed takes the place of what is taken, and its range is its own") {
  DeviceMemory memory;
  memory.live = 700;
  memory.allocated = 850;
  memory.reserved = 900;
  memory.device_bytes = 1000;
  memory.context = 100;
  memory.low = 600;
  memory.high = 1900;
  memory.minimum = 900;
  const GrownMemory grown = take_demand(memory, {.bytes = 100, .low = 40, .high = 180}, .1);
  CHECK(grown.bytes == 1000);
  CHECK(grown.range.low == 800);  // of what is needed: nothing takes less
  CHECK(grown.range.high == 1900);
  CHECK(memory.device_bytes == 900);
  CHECK(memory.reserved == 800);
  CHECK(memory.allocated == 800);
  CHECK(memory.live == 700);
  CHECK(memory.fragmentation == 0);
  CHECK(memory.low == 800);    // 80 and 60 beside it, which do not depend on each other
  CHECK(memory.high == 1013);  // 80 and 80
  // A context that is known: none of the range is its own.
  memory.minimum = 500;
  take_demand(memory, {.bytes = 100}, .1);
  CHECK(memory.low == 460);
  CHECK(memory.high == 540);
  CHECK(memory.allocated == 400);
  CHECK(memory.live == 400);
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
