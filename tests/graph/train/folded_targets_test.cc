#include "graph/train/folded_targets.h"

#include <doctest/doctest.h>

#include <string>

#include "graph/ir/text.h"

namespace plimsoll {
namespace {

// Before which node the array that a node writes into is made; kNoNode where that is nowhere.
NodeId made_before(const std::string& nodes, WeightRole role = WeightRole::kComputed) {
  const auto graph = parse_text(
      "opset 17\ninput x: f32[4,8]\ninput at: i64[4,1]\ninput all: i64[4,8]\n"
      "param val_19: f32[4,8]\n" +
      nodes);
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  const auto made = folded_targets(*graph, std::vector<WeightRole>(graph->tensors.size(), role));
  if (made.empty()) return kNoNode;
  CHECK(made.size() == 1);
  REQUIRE(made.begin()->second.size() == 1);
  CHECK(graph->tensors[made.begin()->second.front()].name == "val_19");
  return made.begin()->first;
}

}  // namespace

TEST_CASE("what a statement writes into is there before its other operands are made") {
  // zeros_like(x).index_add(0, at, tanh(exp(x))) behind a line of its own
  const std::string in_one =
      "a = Relu(x) statements=\"net.py:1 h\"\n"
      "b = Exp(a) statements=\"net.py:2 y\"\n"
      "c = Tanh(b) statements=\"net.py:2 y\"\n"
      "d = ScatterND(val_19, at, c) {reduction=\"add\"} statements=\"net.py:2 y\"\noutput d\n";
  CHECK(made_before(in_one) == 1);
  // Messages of a line before, and of a module that the statement calls.
  CHECK(made_before("c = Tanh(x) statements=\"net.py:1 m\"\n"
                    "d = ScatterElements(val_19, all, c) {axis=0} statements=\"net.py:2\"\n"
                    "output d\n") == 1);
  CHECK(made_before("a = Relu(x) calls=\"/\" statements=\"net.py:1 h\"\n"
                    "b = Exp(a) calls=\"/mlp\" statements=\"net.py:2 y;mlp.py:7 h\"\n"
                    "c = Tanh(b) calls=\"/mlp\" statements=\"net.py:2 y;mlp.py:8\"\n"
                    "d = ScatterND(val_19, at, c) calls=\"/\" statements=\"net.py:2 y\"\n"
                    "output d\n") == 1);
  // A function of the network's own, whose caller's statement is another.
  CHECK(made_before(
            "b = Exp(x) calls=\"/\" statements=\"net.py:2 y\"\n"
            "d = ScatterND(val_19, at, b) calls=\"/\" statements=\"net.py:2 y;scatter.py:3\"\n"
            "output d\n") == 1);
}

TEST_CASE("an array that nobody writes into, or that no exporter folded, is made by nobody") {
  const std::string lines = " statements=\"net.py:2 y\"\noutput d\n";
  CHECK(made_before("d = Add(val_19, x)" + lines) == kNoNode);
  CHECK(made_before("d = ScatterND(x, at, val_19)" + lines) == kNoNode);
  CHECK(made_before("d = ScatterND(val_19, at, x)" + lines, WeightRole::kBuffer) == kNoNode);
  // A file that lists no statements.
  CHECK(made_before("d = ScatterND(val_19, at, x)\noutput d\n") == kNoNode);
}

}  // namespace plimsoll
