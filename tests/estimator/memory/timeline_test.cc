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

// Made by node 0 and read by node 1, whose call goes on to node 3; what node 2 makes for itself has
// no name.
TEST_CASE("timeline: values of a forward pass may live until their call returns") {
  using Kind = Event::Kind;
  Made m;
  m.buffer(2048);
  m.buffer(1024);
  m.buffer(4096);
  for (const NodeId node : {0, 2, 3}) m.step.buffers[node == 0 ? 0 : node - 1].node = node;
  const auto event = [&](Kind kind, uint32_t id, NodeId node) {
    m.step.events.push_back({kind, Phase::kForward, id, node});
  };
  event(Kind::kAllocate, 0, 0);
  event(Kind::kFree, 0, 1);
  event(Kind::kAllocate, 1, 2);
  event(Kind::kFree, 1, 2);
  event(Kind::kAllocate, 2, 3);
  m.step.end_of_forward = m.step.events.size();
  CHECK(walk(m.step, m.bound, 512).peak_bytes == 4096);
  const std::vector<NodeId> until_end = {3, 3, 3, 3}, gone = {1, 1, 2, 3};
  CHECK(forward_peak_with_names(m.step, m.bound, 512, {}, until_end) == 4096 + 2048);
  CHECK(forward_peak_with_names(m.step, m.bound, 512, {}, gone) == 4096);
}

}  // namespace plimsoll
