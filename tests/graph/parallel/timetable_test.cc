#include "graph/parallel/timetable.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace plimsoll::parallel {
namespace {

using Table = std::vector<std::vector<TimedWork>>;

double length_of(const Table& table) {
  double end = 0;
  for (const auto& stage : table) end = std::max(end, stage.back().end);
  return end;
}

// What bubble_of() says a step with these passes takes.
double by_formula(Schedule schedule, const Stage& at, const PassSeconds& seconds) {
  const double passes =
      static_cast<double>(at.micro_batches) * (seconds.forward + seconds.backward);
  const double weights = seconds.weights / (seconds.forward + seconds.backward);
  return passes * (1 + bubble_of(schedule, at, weights));
}

constexpr PassSeconds kPasses{.forward = 1, .backward = 2, .weights = 1};

}  // namespace

TEST_CASE("timetable: a step is as long as the formula of its bubble says") {
  struct {
    Schedule schedule;
    Stage at;
  } const rows[] = {
      {Schedule::kOneForwardOneBackward, {.stages = 4, .micro_batches = 8}},
      {Schedule::kOneForwardOneBackward, {.stages = 8, .micro_batches = 8}},
      {Schedule::kForwardFirst, {.stages = 4, .micro_batches = 8}},
      {Schedule::kForwardFirst, {.stages = 4, .micro_batches = 2}},
      {Schedule::kInterleaved, {.stages = 4, .micro_batches = 8, .chunks = 2}},
      {Schedule::kInterleaved, {.stages = 4, .micro_batches = 12, .chunks = 3}},
      {Schedule::kZeroBubble, {.stages = 4, .micro_batches = 8}},
  };
  for (const auto& row : rows) {
    CAPTURE(static_cast<int>(row.schedule));
    CAPTURE(row.at.micro_batches);
    CHECK(length_of(timetable(row.schedule, row.at, kPasses)) ==
          doctest::Approx(by_formula(row.schedule, row.at, kPasses)));
  }
}

// Narayanan et al., arXiv:2104.04473, figure 4.
TEST_CASE("timetable: a stage begins when the one before it has sent, and runs one at a time") {
  const Stage at{.stages = 4, .micro_batches = 8};
  const Table table = timetable(Schedule::kOneForwardOneBackward, at, kPasses);
  REQUIRE(table.size() == 4);
  for (size_t s = 0; s < 4; ++s) {
    CHECK(table[s].size() == 16);
    CHECK(table[s].front().begin == doctest::Approx(static_cast<double>(s)));
    for (size_t i = 1; i < table[s].size(); ++i) CHECK(table[s][i].begin >= table[s][i - 1].end);
  }
  CHECK(table[3][1].work == Work{Pass::kBackward, 0});
  CHECK(table[3][1].begin == doctest::Approx(4));  // as soon as its forward pass has ended
  CHECK(table[0][4].work == Work{Pass::kBackward, 0});
  CHECK(table[0][4].begin == doctest::Approx(10));  // 4 forward, 3 stages back
}

TEST_CASE("timetable: one stage has no bubble") {
  const Table table = timetable(Schedule::kOneForwardOneBackward, {.micro_batches = 3}, kPasses);
  CHECK(length_of(table) == doctest::Approx(9));
}

}  // namespace plimsoll::parallel
