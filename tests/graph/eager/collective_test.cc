#include <doctest/doctest.h>

#include <string>

#include "graph/eager/machine.h"
#include "graph/eager/ops.h"

namespace plimsoll::eager {
namespace {

// "+1 -1 issue0 await0": allocations and frees by buffer, and collectives; launches are left out.
std::string events_of(const Step& step) {
  std::string text;
  for (const Event& e : step.events) {
    const char* const kind = e.kind == Event::Kind::kAllocate ? "+"
                             : e.kind == Event::Kind::kFree   ? "-"
                             : e.kind == Event::Kind::kIssue  ? "issue"
                             : e.kind == Event::Kind::kAwait  ? "await"
                                                              : "";
    if (*kind) text += kind + std::to_string(e.id) + " ";
  }
  return text;
}

}  // namespace

TEST_CASE("collective: what lies in its buffer is freed when it has ended") {
  const Recipe recipe;
  const Policy policy;
  Decider decider({});
  Machine m(recipe, policy, decider);
  Value first = m.allocate(DType::kFloat32, {Dim(8)});
  Value second = m.allocate(DType::kFloat32, {Dim(8)});
  const uint32_t reduced = m.issue({.bytes = 32, .buffer = first.storage()->id()});
  const uint32_t again = m.issue({.bytes = 32, .buffer = first.storage()->id()});
  const uint32_t kept = m.issue({.bytes = 32, .buffer = second.storage()->id()});
  first = {};
  m.await(reduced);
  m.await(again);
  m.await(kept);
  second = {};
  CHECK(events_of(m.finish()) == "+0 +1 issue0 issue1 issue2 await0 await1 -0 await2 -1 ");
}

TEST_CASE("collective: a weight's memory comes and goes, and what autograd keeps follows") {
  Recipe recipe;
  recipe.parallel.mesh.extent(Axis::kShard) = 4;
  const Policy policy;
  Decider decider({});
  Machine m(recipe, policy, decider);
  Step step;
  {
    Value x = m.resident(DType::kFloat32, {Dim(2), Dim(8)}, Role::kInput);
    const GradNodeRef leaf = m.require_gradient(x);  // which the weight is kept for
    const Value part = m.train(m.unbound(DType::kFloat32, {Dim(8), Dim(8)}));
    CHECK(part.storage()->id() == kNoBuffer);
    m.bind(part, 256);
    const BufferId forward = part.storage()->id();
    const Value y = matmul(m, x, part);
    m.mark_end_of_forward();
    REQUIRE(y.grad() != nullptr);
    m.unbind(part);
    m.bind(part, 256);
    CHECK(part.storage()->id() != forward);
    int keepers = 0;
    for (const Kept& kept : y.grad()->kept) {
      if (kept.value.on_device() && kept.value.storage()->id() == part.storage()->id()) ++keepers;
    }
    CHECK(keepers == 1);
    m.unbind(part);
  }
  step = m.finish();
  CHECK(step.saved.empty());  // weights are not what is kept for backward
  int64_t bound = 0;
  for (const Buffer& b : step.buffers) bound += b.role == Role::kParameter && !b.resident;
  CHECK(bound == 2);
}

}  // namespace plimsoll::eager
