#include "graph/eager/repeated_passes.h"

#include <doctest/doctest.h>

#include <string>

namespace plimsoll::eager {
namespace {

Event allocate(BufferId id) { return {Event::Kind::kAllocate, Phase::kForward, id, kNoNode}; }
Event release(BufferId id) { return {Event::Kind::kFree, Phase::kForward, id, kNoNode}; }
Event launch() { return {Event::Kind::kLaunch, Phase::kForward, 0, kNoNode}; }

std::string text(const Step& step) {
  std::string all;
  for (const Event& e : step.events) {
    const bool storage = e.kind != Event::Kind::kLaunch;
    const std::string what = e.kind == Event::Kind::kAllocate ? "+" : "-";
    all += storage ? what + std::to_string(e.id) + " " : "run ";
  }
  return all;
}

}  // namespace

TEST_CASE("repeated passes: copies of a pass come before it, and its backward pass's free theirs") {
  Step step;
  step.buffers.resize(2);
  // 0 is kept for backward, 1 is a temporary.
  step.events = {allocate(0), allocate(1), launch(), release(1)};
  PassCopies copies;
  REQUIRE(copies.write(step, 0, 2));
  CHECK(text(step) == "+2 +3 -3 +4 +5 -5 +0 +1 run -1 ");
  REQUIRE(copies.of(0).size() == 2);
  CHECK(copies.of(0)[1] == 4);
  const size_t begin = step.events.size();
  step.events.push_back(launch());
  step.events.push_back(release(0));
  REQUIRE(copies.write(step, begin, 2));
  CHECK(text(step).substr(31) == "-2 -4 run -0 ");
  CHECK(copies.of(0).empty());
}

TEST_CASE("repeated passes: what a pass frees of the one before is the copy's before it") {
  Step step;
  step.buffers.resize(2);
  step.events = {allocate(0)};
  step.events.insert(step.events.end(), {allocate(1), launch(), release(0)});
  PassCopies copies;
  REQUIRE(copies.write(step, 1, 2));
  CHECK(text(step) == "+0 +2 -0 +3 -2 +1 run -3 ");
  step.events.insert(step.events.end(), {launch(), release(1)});
  CHECK_FALSE(PassCopies().write(step, step.events.size() - 2, 1));  // leaves nothing alike
  CHECK_FALSE(leaves_what_it_frees(step, step.events.size() - 2));
}

}  // namespace plimsoll::eager
