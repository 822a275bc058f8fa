#include "estimator/memory/timeline.h"

#include <doctest/doctest.h>

namespace plimsoll {
namespace {

struct Made {
  Step step;
  BoundStep bound;
  void buffer(int64_t bytes, bool resident = false) {
    step.buffers.push_back({Dim(bytes), Role::kTemporary, kNoNode, resident});
    bound.buffer_bytes.push_back(bytes);
  }
  void event(Event::Kind kind, uint32_t id) {
    step.events.push_back({kind, Phase::kForward, id, kNoNode});
  }
};

}  // namespace

TEST_CASE("timeline: the largest value at the peak is neither dead nor yet to come nor resident") {
  using Kind = Event::Kind;
  Made m;
  m.buffer(90000, true);
  m.buffer(8000);
  m.buffer(1000);
  m.buffer(7500);
  m.buffer(4000);
  m.event(Kind::kAllocate, 1);
  m.event(Kind::kFree, 1);
  m.event(Kind::kAllocate, 2);
  m.event(Kind::kAllocate, 3);  // the peak: 1000 and 7500, rounded
  m.event(Kind::kFree, 3);
  m.event(Kind::kAllocate, 4);
  const Timeline t = walk(m.step, m.bound, 512);
  CHECK(t.peak_bytes == 90112 + 1024 + 7680);
  CHECK(t.peak_event == 3);
  CHECK(largest_value_at_peak(m.step, m.bound, 512, t) == 7680);
}

}  // namespace plimsoll
