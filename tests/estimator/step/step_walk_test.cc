// The walk that golden steps are checked with finds what can be wrong.
#include "tests/support/step_walk.h"

#include <doctest/doctest.h>

namespace plimsoll {
namespace {

using Kind = Event::Kind;

// Two values on a resident one, the first kept for backward.
Step sound_step() {
  Step step;
  step.buffers = {{.bytes = 600, .role = Role::kParameter, .resident = true},
                  {.bytes = 1000, .role = Role::kFeatureMap},
                  {.bytes = 10}};
  step.kernels.push_back({.op = "relu"});
  step.collectives.push_back({.bytes = 600});
  step.saved.push_back({1, 0, "relu keeps its result"});
  const Phase forward = Phase::kForward, backward = Phase::kBackward;
  step.events = {{Kind::kAllocate, forward, 1, 0}, {Kind::kAllocate, forward, 2, 0},
                 {Kind::kLaunch, forward, 0, 0},   {Kind::kFree, forward, 2, 0},
                 {Kind::kIssue, backward, 0, 0},   {Kind::kBecomeGradient, backward, 1, 0},
                 {Kind::kAwait, backward, 0, 0},   {Kind::kFree, backward, 1, 0}};
  step.end_of_forward = 4;
  step.repeats.push_back({1, 4, 2});
  return step;
}

std::vector<std::string> faults_of(const Step& step) {
  return test::step_faults(step, bind_step(step, {}).value(), 512);
}

bool found(const Step& step, std::string_view fault) {
  const auto all = faults_of(step);
  return std::ranges::any_of(all, [&](const std::string& f) { return f.find(fault) != f.npos; });
}

}  // namespace

TEST_CASE("step walk: a sound step has no fault, each fault is found") {
  CHECK(faults_of(sound_step()).empty());
  const auto changed = [](auto change) {
    Step step = sound_step();
    change(step);
    return step;
  };
  const auto at = [&](size_t event, Kind kind, uint32_t id) {
    return changed([&](Step& s) { s.events[event].kind = kind, s.events[event].id = id; });
  };
  CHECK(found(at(0, Kind::kAllocate, 0), "a resident is allocated"));
  CHECK(found(at(1, Kind::kAllocate, 1), "allocated twice"));
  CHECK(found(at(1, Kind::kLaunch, 0), "freed, but not alive"));
  CHECK(found(at(0, Kind::kFree, 2), "less is alive than persists"));
  CHECK(found(at(3, Kind::kFree, 0), "a resident is freed"));
  CHECK(found(at(3, Kind::kLaunch, 0), "never freed"));
  CHECK(found(at(3, Kind::kLaunch, 0), "a repeated pass leaves memory behind"));
  CHECK(found(at(3, Kind::kLaunch, 0), "something is left"));
  CHECK(found(at(2, Kind::kLaunch, 1), "no such kernel"));
  CHECK(found(at(5, Kind::kBecomeGradient, 2), "a gradient that is not alive"));
  CHECK(found(at(4, Kind::kLaunch, 0), "awaited, but not issued"));
  CHECK(found(at(6, Kind::kLaunch, 0), "not awaited"));
  CHECK(found(at(6, Kind::kIssue, 0), "issued twice"));
  CHECK(found(changed([](Step& s) { s.saved[0].buffer = 2; }), "kept, but not alive"));
  CHECK(found(changed([](Step& s) { s.saved.push_back(s.saved[0]); }), "kept twice"));
  CHECK(found(changed([](Step& s) { s.buffers.emplace_back(); }), "never allocated"));
  CHECK(found(changed([](Step& s) { s.repeats[0].end = 9; }), "not in their order"));
  // What is told of it is told by another walk.
  const Step step = sound_step();
  const BoundStep bound = bind_step(step, {}).value();
  Timeline told = walk(step, bound, 512);
  told.peak_bytes += 512;
  CHECK(test::StepWalk(step, bound, 512).check(told).size() == 2);
}

}  // namespace plimsoll
