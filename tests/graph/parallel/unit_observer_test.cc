#include "graph/parallel/unit_observer.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

namespace plimsoll::parallel {
namespace {

class Told : public UnitObserver {
 public:
  using UnitObserver::UnitObserver;
  std::string text;

 protected:
  void before_unit(size_t unit, Pass pass) override { note("+", unit, pass); }
  void after_unit(size_t unit, Pass pass) override { note("-", unit, pass); }

 private:
  void note(const char* what, size_t unit, Pass pass) {
    text += fmt::format("{}{}{} ", pass == Pass::kForward ? "f" : "b", what,
                        unit == around() ? "*" : std::to_string(unit));
  }
};

// Six nodes: one in no unit, two in each of two units, one in none.
const std::vector<Unit> kUnits = {{.module = "h.0", .first = 1, .last = 3},
                                  {.module = "h.1", .first = 3, .last = 5}};
const Unit kAround{.last = 6};

void run_nodes(Told& told, std::initializer_list<NodeId> nodes) {
  std::vector<eager::Value> inputs;
  for (const NodeId node : nodes) told.before_node(node, inputs);
}

}  // namespace

TEST_CASE("unit observer: units follow each other, forward and back") {
  Told told(kUnits, kAround);
  run_nodes(told, {0, 1, 2, 3, 4, 5});
  told.end_forward();
  CHECK(told.text == "f+* f+0 f-0 f+1 f-1 f-* ");
  told.text.clear();
  told.begin_backward(true);
  for (const NodeId node : {kNoNode, NodeId{5}, NodeId{4}, NodeId{3}, NodeId{2}, NodeId{1}})
    told.before_backward_of(node);
  told.end_backward();
  CHECK(told.text == "b+* b+1 b-1 b+0 b-0 b-* ");
}

TEST_CASE("unit observer: a unit that runs again in backward is told of beforehand") {
  Told told(kUnits, kAround);
  told.begin_backward(true);
  told.before_backward_of(4);
  run_nodes(told, {1, 2, 3, 4});  // a checkpoint over both
  told.before_backward_of(2);
  told.end_backward();
  CHECK(told.text == "b+* b+1 b+0 b+0 b-1 b+0 b-0 b-* ");
}

}  // namespace plimsoll::parallel
