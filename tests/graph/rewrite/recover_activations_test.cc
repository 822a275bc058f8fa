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

// Is the sum of a residual block written into its branch? `line` is the sum's source line.
static bool sum_in_place(const std::string& line) {
  const Graph graph = test::recovered(
      "opset 21\ninput x: f32[B,8,4,4]\nparam n.weight: f32[8]\nparam n.bias: f32[8]\n"
      "param n.running_mean: f32[8]\nparam n.running_var: f32[8]\n"
      "n = BatchNormalization(x, n.weight, n.bias, n.running_mean, n.running_var)\n"
      "s = Add(n, x)" +
      line + "\ny = Relu(s)\noutput y\n");
  REQUIRE(graph.nodes[1].op == "Add");
  return graph.nodes[1].notes.in_place == 1;
}

TEST_CASE("a residual sum is in place, unless its source line is known and says otherwise") {
  CHECK(sum_in_place(""));
  CHECK(sum_in_place(" calls=\"/b\" statements=\"net.py:3 y;block.py:7 x+=\""));
  CHECK_FALSE(sum_in_place(" calls=\"/b\" statements=\"net.py:3 y;block.py:7 x\""));
  CHECK_FALSE(sum_in_place(" calls=\"/b\" statements=\"net.py:3 y+=;block.py:7 x\""));
}

TEST_CASE("a sum that its line writes into a name is in place, whatever reads it") {
  const auto sums = [](const std::string& line) {
    const std::string notes = " calls=\"/\" statements=\"" + line + "\"";
    const Graph graph =
        test::recovered("opset 21\ninput x: f32[B,8]\nparam b: f32[8]\nh = Tanh(x)\ns = Add(h, b)" +
                        notes + "\nt = Add(h, s)" + notes + "\ny = Exp(t)\noutput y\n");
    return std::pair(graph.nodes[1].notes.in_place, graph.nodes[2].notes.in_place);
  };
  CHECK(sums("net.py:3 h+=") == std::pair(0, 1));  // the last of its line
  CHECK(sums("net.py:3 h") == std::pair(0, 0));
  CHECK(sums("net.py:3 h+=;layer.py:5 y") == std::pair(0, 0));
}

// FastViT's branches: "out = scale + identity", where identity is 0, and "out += conv(x)".
TEST_CASE("a sum written into a name that no statement gave a value is written into a copy") {
  const auto nodes = [](const std::string& made, const std::string& written) {
    return test::recovered(
               "opset 21\ninput x: f32[B,8]\nparam b: f32[8]\n"
               "h = Tanh(x) calls=\"/\" statements=\"" +
               made + "\"\nc = Exp(x) calls=\"/\"\ns = Add(h, c) calls=\"/\" statements=\"" +
               written + "\"\noutput s\n")
        .nodes;
  };
  const auto copied = nodes("net.py:3 scale;bn.py:7 y", "net.py:5 out+=");
  REQUIRE(copied.size() == 4);
  CHECK(copied[1].op == "Add");
  CHECK(copied[3].inputs[0] == copied[1].outputs[0]);
  CHECK(copied[3].notes.in_place == 1);
  CHECK(nodes("net.py:3 out;bn.py:7 y", "net.py:5 out+=").size() == 3);
  CHECK(nodes("net.py:3 a,out...", "net.py:5 out+=").size() == 3);
  CHECK(nodes("net.py:2 out+=", "net.py:5 out+=").size() == 3);
  CHECK(nodes("net.py:3", "net.py:5 out+=").size() == 3);                  // a term without a name
  CHECK(nodes("net.py:1 y;a.py:3 h", "net.py:2 y;b.py:5 h").size() == 3);  // another call's
}

}  // namespace plimsoll
