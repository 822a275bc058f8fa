// Activations that a file does not say to run in place, and nearly always do.
#include <doctest/doctest.h>

#include "tests/support/recovered.h"

namespace plimsoll {

// Is the SiLU behind `norm` taken to overwrite its input?
static bool silu_in_place(const std::string& norm, const std::string& module) {
  const Graph graph = test::recovered(
      "opset 21\ninput x: f32[B,8,4,4]\nparam n.weight: f32[8]\nparam n.bias: f32[8]\n"
      "param n.running_mean: f32[8]\nparam n.running_var: f32[8]\nn = " +
      norm + "\ns = Sigmoid(n) module=\"" + module + "\"\ny = Mul(n, s) module=\"" + module +
      "\"\noutput y\n");
  REQUIRE(graph.nodes.back().op == "Silu");
  return graph.nodes.back().notes.in_place == 1;
}

TEST_CASE("a SiLU behind a batch norm runs in place; behind a norm in groups if it is an act") {
  const std::string batch =
      "BatchNormalization(x, n.weight, n.bias, n.running_mean, n.running_var)";
  const std::string groups = "GroupNormalization(x, n.weight, n.bias) {num_groups=2}";
  CHECK(silu_in_place(batch, "block.nonlinearity"));
  CHECK(silu_in_place(groups, "block.act"));
  CHECK_FALSE(silu_in_place(groups, "block.nonlinearity"));
}

}  // namespace plimsoll
