#include "graph/train/loop_turns.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "graph/ir/text.h"

namespace plimsoll {
namespace {

NodeId retained_until(const std::string& nodes, std::string_view value) {
  const auto graph = parse_text("opset 17\ninput x: f32[4,8]\nparam w: f32[8,8]\n" + nodes);
  REQUIRE(graph);
  const auto until = retained_by_turns(*graph);
  const auto at = std::ranges::find(graph->tensors, value, &Tensor::name);
  REQUIRE(at != graph->tensors.end());
  return until[static_cast<size_t>(at - graph->tensors.begin())];
}

// for t in range(3): h = torch.tanh(h @ w + x); return torch.exp(h)
const std::string kCell =
    "z = Relu(x)\n"
    "a0 = MatMul(z, w)\nb0 = Add(a0, x)\nh0 = Tanh(b0)\n"
    "a1 = MatMul(h0, w)\nb1 = Add(a1, x)\nh1 = Tanh(b1)\n"
    "a2 = MatMul(h1, w)\nb2 = Add(a2, x)\nh2 = Tanh(b2)\n"
    "y = Exp(h2)\noutput y\n";

TEST_CASE("turns: what the next turn reads is held until that turn makes its own") {
  CHECK(retained_until(kCell, "h0") == 6);
  CHECK(retained_until(kCell, "h1") == 9);
  CHECK(retained_until(kCell, "a0") == kNoNode);  // terms of an expression have no name
  CHECK(retained_until(kCell, "b1") == kNoNode);
  CHECK(retained_until(kCell, "h2") ==
        kNoNode);  // read behind the loop: who knows under which name
}

// for t in range(2): i, g = (w @ h).chunk(2); c = c * i + g; h = torch.tanh(c)
TEST_CASE("turns: parts of one operator have names, behind the last turn until the code returns") {
  const auto turn = [](int t, const char* h, const char* c) {
    return fmt::format(
        "m{0} = MatMul({1}, w)\ni{0}, g{0} = Split(m{0}) {{axis=1, num_outputs=2}}\n"
        "p{0} = Mul(i{0}, {2})\nc{0} = Add(p{0}, g{0})\nt{0} = Tanh(c{0})\n"
        "h{0} = Concat(t{0}, t{0}) {{axis=1}}\n",
        t, h, c);
  };
  const std::string nodes =
      turn(0, "x", "x4") + turn(1, "h0", "c0") + "y = Exp(h1)\nv = Exp(y)\noutput v\n";
  const std::string cell = "x4 = Slice(x)\n" + nodes;
  CHECK(retained_until(cell, "i0") == 8);
  CHECK(retained_until(cell, "g0") == 8);
  CHECK(retained_until(cell, "i1") == 14);
  CHECK(retained_until(cell, "c0") == 10);
  CHECK(retained_until(cell, "c1") == 14);  // no other turn takes its name
  CHECK(retained_until(cell, "h0") == 12);
  CHECK(retained_until(cell, "p0") == kNoNode);
}

TEST_CASE(
    "turns: a loop in a module's code ends with its call, what a module returned is carried") {
  const std::string nodes =
      "z = Relu(x) name=\"/stem/Relu\"\n"
      "a0 = MatMul(z, w) name=\"/net/cell/MatMul\"\nh0 = Tanh(a0) name=\"/net/cell/Tanh\"\n"
      "c0 = Mul(h0, z) name=\"/net/Mul\"\n"
      "a1 = MatMul(c0, w) name=\"/net/cell_1/MatMul\"\nh1 = Tanh(a1) name=\"/net/cell_1/Tanh\"\n"
      "c1 = Mul(h1, h0) name=\"/net/Mul_1\"\n"
      "u = Exp(c1) name=\"/net/Exp\"\ny = Exp(u) name=\"/head/Exp\"\noutput y\n";
  CHECK(retained_until(nodes, "h0") == 5);
  CHECK(retained_until(nodes, "h1") == 7);
  CHECK(retained_until(nodes, "c0") == 6);
  CHECK(retained_until(nodes, "a0") == kNoNode);
}

// Near misses: a network called for two inputs, a table that the head shares, turns that differ.
TEST_CASE("turns: what two calls of one network make is no loop's") {
  CHECK(retained_until("a0 = MatMul(x, w)\nh0 = Tanh(a0)\na1 = MatMul(x, w)\nh1 = Tanh(a1)\n"
                       "y = Add(h0, h1)\noutput y\n",
                       "h0") == kNoNode);
  CHECK(retained_until("a = MatMul(x, w)\nb = Tanh(a)\nc = Relu(b)\nd = MatMul(c, w)\ny = Exp(d)\n"
                       "output y\n",
                       "c") == kNoNode);
  CHECK(retained_until("a = MatMul(x, w)\nb = Tanh(a)\nc = MatMul(b, w)\ny = Exp(c)\noutput y\n",
                       "b") == kNoNode);
  // Layers that share a number of their code have a weight each.
  CHECK(retained_until("const two: f32[] = [2.0]\nparam u: f32[8,8]\n"
                       "a = MatMul(x, w)\nb = Mul(a, two)\nc = MatMul(b, u)\nd = Mul(c, two)\n"
                       "y = Exp(d)\noutput y\n",
                       "b") == kNoNode);
}

}  // namespace
}  // namespace plimsoll
