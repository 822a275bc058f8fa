#include "graph/rewrite/drop_masks.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/recovered.h"

namespace plimsoll {
namespace {

bool has(const Graph& graph, std::string_view op) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) { return node.op == op; });
}

// torchvision's stochastic depth as PyTorch exports it.
Graph branch(const std::string& compared) {
  return test::recovered(R"(opset 17
input x: f32[2,8,4,4]
param w: f32[8,8,3,3]
const keep: f32[] = [0.9]
const shape: i64[4] = [2,1,1,1]
y = Conv(x, w) {pads=[1,1,1,1]}
ones = ConstantOfShape(shape)
draw = RandomUniformLike(ones)
)" + compared + R"(
depth = Mul(y, scaled)
out = Add(depth, x)
output out
)");
}

}  // namespace

TEST_CASE("stochastic depth is no part of a pass without dropout") {
  Graph graph =
      branch("less = Less(draw, keep)\nmask = Cast(less) {to=1}\nscaled = Div(mask, keep)");
  REQUIRE(has(graph, "Mul"));
  CHECK(drop_masks(graph).masks == 1);
  CHECK_FALSE(has(graph, "Mul"));
  CHECK_FALSE(has(graph, "RandomUniformLike"));
  CHECK_FALSE(has(graph, "Less"));
  CHECK(has(graph, "Conv"));
  CHECK(has(graph, "Add"));
}

TEST_CASE("a uniform draw that is rounded down is a mask, one that is not is noise") {
  Graph floored = branch("moved = Add(draw, keep)\nmask = Floor(moved)\nscaled = Div(mask, keep)");
  CHECK(drop_masks(floored).masks == 1);
  Graph noise = branch("scaled = Div(draw, keep)");
  CHECK(drop_masks(noise).masks == 0);
  CHECK(has(noise, "RandomUniformLike"));
}

TEST_CASE("a graph without masks keeps every node in its place, also one that nothing reads") {
  Graph graph = test::inferred(R"(opset 17
input x: f32[2,8]
unread = Relu(x)
out = Tanh(x)
output out
)");
  const size_t nodes = graph.nodes.size();
  const DroppedMasks dropped = drop_masks(graph);
  CHECK(dropped.masks == 0);
  CHECK(graph.nodes.size() == nodes);
  CHECK(dropped.new_ids == std::vector<NodeId>{0, 1});
}

}  // namespace plimsoll
