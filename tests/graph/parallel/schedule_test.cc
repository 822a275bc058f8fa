#include "graph/parallel/schedule.h"

#include <doctest/doctest.h>

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

}  // namespace plimsoll::parallel
