#include "graph/parallel/schedule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace plimsoll::parallel {
namespace {

std::string order(Schedule schedule, const Stage& at) {
  std::string text;
  for (const Work& work : order_of(schedule, at))
    text += (work.pass == Pass::kForward ? "F" : "B") + std::to_string(work.micro_batch) + " ";
  return text;
}

}  // namespace

TEST_CASE("schedule: one stage takes each micro-batch forward and back") {
  CHECK(order(Schedule::kOneForwardOneBackward, {.micro_batches = 3}) == "F0 B0 F1 B1 F2 B2 ");
  CHECK(order(Schedule::kForwardFirst, {.micro_batches = 3}) == "F0 F1 F2 B0 B1 B2 ");
  CHECK(order(Schedule::kForwardFirst, {}) == "F0 B0 ");
}

// Narayanan et al., arXiv:2104.04473, figure 4: four stages, eight micro-batches.
TEST_CASE("schedule: as many micro-batches are in flight as stages follow, and one") {
  const auto stage = [](int64_t s) { return Stage{.stages = 4, .stage = s, .micro_batches = 8}; };
  CHECK(order(Schedule::kOneForwardOneBackward, stage(0)) ==
        "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7 ");
  CHECK(order(Schedule::kOneForwardOneBackward, stage(2)) ==
        "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7 ");
  CHECK(order(Schedule::kOneForwardOneBackward, stage(3)) ==
        "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7 ");
  CHECK(order(Schedule::kOneForwardOneBackward, {.stages = 4, .stage = 0, .micro_batches = 2}) ==
        "F0 F1 B0 B1 ");
}

// Narayanan et al., arXiv:2104.04473, figure 4 below: four stages of two chunks each. Four
// micro-batches go through the first chunk, then through the second.
TEST_CASE("schedule: interleaved, a stage takes groups of micro-batches through its chunks") {
  const auto of = [](int64_t stage) {
    std::string text;
    for (const Work& work :
         order_of(Schedule::kInterleaved,
                  {.stages = 4, .stage = stage, .micro_batches = 8, .chunks = 2})) {
      text += (work.pass == Pass::kForward ? "F" : "B") + std::to_string(work.micro_batch) +
              (work.chunk == 0 ? "a " : "b ");
    }
    return text;
  };
  CHECK(of(3) ==
        "F0a F1a F2a F3a F0b B0b F1b B1b F2b B2b F3b B3b F4a B0a F5a B1a F6a B2a F7a B3a F4b B4b "
        "F5b B5b F6b B6b F7b B7b B4a B5a B6a B7a ");
  CHECK(of(0).starts_with("F0a F1a F2a F3a F0b F1b F2b F3b F4a F5a F6a B0b F7a B1b "));
  CHECK(of(0).ends_with("B4a B5a B6a B7a "));
}

// Qi et al., arXiv:2401.10241, figure 2, ZB-H1: later stages put off more gradients of weights, so
// that all hold as much.
TEST_CASE("schedule: zero bubble, gradients of weights wait") {
  const auto of = [](int64_t stage, int64_t batches) {
    std::string text;
    for (const Work& work :
         order_of(Schedule::kZeroBubble, {.stages = 3, .stage = stage, .micro_batches = batches})) {
      const char* pass = work.pass == Pass::kForward           ? "F"
                         : work.pass == Pass::kBackwardWeights ? "W"
                                                               : "B";
      text += pass + std::to_string(work.micro_batch) + " ";
    }
    return text;
  };
  CHECK(of(0, 3) == "F0 F1 F2 B0 W0 B1 W1 B2 W2 ");
  CHECK(of(2, 4) == "F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3 ");
  CHECK(of(2, 1) == "F0 B0 W0 ");
}

TEST_CASE("schedule: chunks and gradients that wait shorten the bubble") {
  const Stage at{.stages = 4, .micro_batches = 8, .chunks = 2};
  CHECK(bubble_of(Schedule::kOneForwardOneBackward, {.stages = 4, .micro_batches = 8}, 0) ==
        doctest::Approx(3. / 8));
  CHECK(bubble_of(Schedule::kInterleaved, at, 0) == doctest::Approx(3. / 16));
  CHECK(bubble_of(Schedule::kZeroBubble, {.stages = 4, .micro_batches = 8}, 1. / 3) ==
        doctest::Approx(1. / 8));
}

// By walking each order.
TEST_CASE("schedule: so many forward passes wait for their backward passes at most") {
  struct Case {
    Schedule schedule;
    int64_t chunks = 1;
  };
  for (const Case& c : {Case{Schedule::kOneForwardOneBackward}, Case{Schedule::kForwardFirst},
                        Case{Schedule::kInterleaved, 2}, Case{Schedule::kInterleaved, 4},
                        Case{Schedule::kZeroBubble}}) {
    for (int64_t stage = 0; stage < 4; ++stage) {
      const Stage at{.stages = 4, .stage = stage, .micro_batches = 8, .chunks = c.chunks};
      int64_t waiting = 0, most = 0;
      for (const Work& work : order_of(c.schedule, at)) {
        const bool ends = c.schedule == Schedule::kZeroBubble ? work.pass == Pass::kBackwardWeights
                                                              : work.pass == Pass::kBackward;
        waiting += work.pass == Pass::kForward ? 1 : ends ? -1 : 0;
        most = std::max(most, waiting);
      }
      CAPTURE(static_cast<int>(c.schedule));
      CAPTURE(stage);
      CHECK(most_in_flight(c.schedule, at) == most);
    }
  }
}

TEST_CASE("schedule: a period comes again until the last backward pass") {
  const Stage zero{.stages = 3, .stage = 1, .micro_batches = 12};
  const Period three = period_of(Schedule::kZeroBubble, zero);
  CHECK(three.passes == 3);
  const auto order = order_of(Schedule::kZeroBubble, zero);
  // F0 F1 B0 F2 B1 W0 F3 B2 W1 ...: the gradients of the first micro-batch are in no period.
  CHECK(periods_after(order, 5, three) == 0);
  CHECK(order[8] == Work{Pass::kBackwardWeights, 1});
  CHECK(periods_after(order, 8, three) == 8);  // F11 B10 W9 is the last
  const Stage chunks{.stages = 2, .stage = 0, .micro_batches = 8, .chunks = 2};
  const Period group = period_of(Schedule::kInterleaved, chunks);
  CHECK(group.passes == 8);
  CHECK(group.micro_batches == 2);
  CHECK(period_of(Schedule::kForwardFirst, zero).passes == 0);
  CHECK(distinct_micro_batches(Schedule::kForwardFirst, 64) == 3);
  CHECK(distinct_micro_batches(Schedule::kForwardFirst, 2) == 2);
  CHECK(distinct_micro_batches(Schedule::kZeroBubble, 64) == 64);
  CHECK(periods_after(order, 8, {}) == 0);
}

}  // namespace plimsoll::parallel
