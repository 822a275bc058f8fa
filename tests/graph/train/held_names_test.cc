#include "graph/train/held_names.h"

#include <doctest/doctest.h>

#include "graph/ir/text.h"

namespace plimsoll {
namespace {

// The node until which a name holds the value; kNoNode where none does.
NodeId held_until(const std::string& nodes, std::string_view value) {
  const auto graph = parse_text("opset 17\ninput x: f32[4]\n" + nodes);
  REQUIRE(graph);
  const HeldNames names(*graph);
  for (TensorId id = 0; id < graph->tensors.size(); ++id) {
    if (graph->tensors[id].name == value) return names.until()[id];
  }
  FAIL("no such value");
  return kNoNode;
}

// What transformers' models do: the embedding has a name of its own, layers take over another's.
TEST_CASE("names: a value is held until its name is assigned again, or its call returns") {
  const auto written = [](const std::string& first, const std::string& second) {
    return "a = Relu(x) calls=\"/\" statements=\"net.py:1 " + first +
           "\"\n"
           "b = Exp(a) calls=\"/\" statements=\"net.py:2 " +
           second +
           "\"\n"
           "c = Tanh(b) calls=\"/\" statements=\"net.py:3 " +
           second +
           "\"\n"
           "d = Exp(c) calls=\"/\" statements=\"net.py:4 y\"\n"
           "output d\n";
  };
  CHECK(held_until(written("embedded", "x"), "a") == 3);
  CHECK(held_until(written("x", "x"), "a") == 1);
  CHECK(held_until(written("embedded", "x"), "b") == 2);
  CHECK(held_until(written("embedded", "x"), "c") == 3);
  // Near misses: read by the statement that made it, or by one that says no name.
  const std::string in_one =
      "a = Relu(x) calls=\"/\" statements=\"net.py:1 y\"\n"
      "b = Exp(a) calls=\"/\" statements=\"net.py:1 y\"\n"
      "c = Tanh(b) calls=\"/\" statements=\"net.py:2 z\"\noutput c\n";
  CHECK(held_until(in_one, "a") == kNoNode);
  const std::string unsaid =
      "a = Relu(x) calls=\"/\" statements=\"net.py:1\"\n"
      "b = Exp(a) calls=\"/\" statements=\"net.py:2\"\noutput b\n";
  CHECK(held_until(unsaid, "a") == kNoNode);
}

TEST_CASE("names: a call's own names end with it, what it returns has its caller's") {
  const std::string nodes =
      "a = Relu(x) calls=\"/block\" statements=\"net.py:1 y;block.py:1 h\"\n"
      "b = Exp(a) calls=\"/block\" statements=\"net.py:1 y;block.py:2 g\"\n"
      "c = Tanh(b) calls=\"/block\" statements=\"net.py:1 y;block.py:3\"\n"
      "d = Exp(c) calls=\"/\" statements=\"net.py:2 z\"\n"
      "e = Tanh(d) calls=\"/\" statements=\"net.py:3 w\"\noutput e\n";
  CHECK(held_until(nodes, "a") == 2);
  CHECK(held_until(nodes, "b") == 2);
  CHECK(held_until(nodes, "c") == 4);
}

// for layer in self.layers: x = layer(x)
TEST_CASE("names: each module that one line calls is a call of its own") {
  const auto loop = [](const std::string& second) {
    return "a = Relu(x) calls=\"/layers.0\" statements=\"net.py:1 x;layer.py:1 h\"\n"
           "b = Exp(a) calls=\"/layers.0\" statements=\"net.py:1 x;layer.py:2\"\n"
           "c = Relu(b) calls=\"/" +
           second +
           "\" statements=\"net.py:1 x;layer.py:1 h\"\n"
           "d = Exp(c) calls=\"/" +
           second + "\" statements=\"net.py:1 x;layer.py:2\"\noutput d\n";
  };
  CHECK(held_until(loop("layers.1"), "a") == 1);
  const std::string taken_over =
      "e = Relu(x) calls=\"/\" statements=\"net.py:0 x\"\n"
      "a = Relu(e) calls=\"/layers.0\" statements=\"net.py:1 x...;layer.py:1\"\n"
      "b = Exp(a) calls=\"/layers.1\" statements=\"net.py:1 x...;layer.py:1\"\n"
      "c = Tanh(b) calls=\"/\" statements=\"net.py:2 x\"\noutput c\n";
  CHECK(held_until(taken_over, "e") == 1);
  CHECK(held_until(loop("layers.0"), "a") == 2);  // a loop inside one call assigns h again
}

TEST_CASE("names: a shortcut is read after its name has gone: another holds it until then") {
  const std::string nodes =
      "a = Relu(x) calls=\"/\" statements=\"net.py:1 y\"\n"
      "b = Exp(a) calls=\"/\" statements=\"net.py:2 y\"\n"
      "c = Add(b, a) calls=\"/\" statements=\"net.py:3 y\"\n"
      "d = Exp(c) calls=\"/\" statements=\"net.py:4 z\"\noutput d\n";
  CHECK(held_until(nodes, "a") == 2);
  CHECK(held_until(nodes, "b") == 2);
  CHECK(held_until(nodes, "c") == 3);
}

TEST_CASE("names: a statement of several lines assigns when its first line has run") {
  const auto written = [](const std::string& dots) {
    return "a = Relu(x) calls=\"/\" statements=\"net.py:1 y\"\n"
           "b = Exp(a) calls=\"/\" statements=\"net.py:4 y" +
           dots +
           "\"\n"
           "c = Tanh(a) calls=\"/\" statements=\"net.py:5\"\n"
           "d = Add(b, c) calls=\"/\" statements=\"net.py:4 y" +
           dots +
           "\"\n"
           "e = Exp(d) calls=\"/\" statements=\"net.py:9 y\"\n"
           "f = Exp(e) calls=\"/\" statements=\"net.py:10 z\"\noutput f\n";
  };
  CHECK(held_until(written("..."), "a") == 3);
  CHECK(held_until(written(""), "a") == 2);  // a loop: read after y was another value
}

TEST_CASE("names: of several names, one for each value in order; what is thrown away takes none") {
  const auto written = [](const std::string& names) {
    return "a = Relu(x) calls=\"/\" statements=\"net.py:1 " + names +
           "\"\n"
           "b = Exp(a) calls=\"/\" statements=\"net.py:2 y\"\n"
           "c = Exp(b) calls=\"/\" statements=\"net.py:3 z\"\noutput c\n";
  };
  CHECK(held_until(written("y,_"), "a") == 1);
  CHECK(held_until(written("_,y"), "a") == 1);
  CHECK(held_until(written("w,y"), "a") == 2);
}

// return x, gate: the gate was computed first.
TEST_CASE("names: of what one call returns the first name is of what it computed last") {
  const auto written = [](const std::string& first, const std::string& second) {
    return "g = Relu(x) calls=\"/" + first + "\" statements=\"net.py:1 y,gate;" + first +
           ".py:1 g\"\n"
           "y = Exp(x) calls=\"/" +
           second + "\" statements=\"net.py:1 y,gate;" + second +
           ".py:2 h\"\n"
           "a = Mul(y, g) calls=\"/\" statements=\"net.py:2 y\"\n"
           "b = Exp(a) calls=\"/\" statements=\"net.py:3 z\"\noutput b\n";
  };
  CHECK(held_until(written("norm", "norm"), "y") == 2);
  CHECK(held_until(written("norm", "norm"), "g") == 3);
  CHECK(held_until(written("one", "two"), "y") == 3);  // y, gate = self.one(x), self.two(x)
  CHECK(held_until(written("one", "two"), "g") == 2);
}

// Segformer's head: maps go into a list in a loop, and all of it is joined.
TEST_CASE("names: what a loop put into a list lives as the list does, where all of it is read") {
  const auto joined = [](const std::string& scope) {
    return "a = Relu(x) calls=\"/\" statements=\"net.py:2 y\"\n"
           "b = Exp(a) calls=\"/\" statements=\"net.py:3 y\"\n"
           "c = Relu(x) calls=\"/\" statements=\"net.py:2 y\"\n"
           "d = Exp(c) calls=\"/\" statements=\"net.py:3 y\"\n"
           "e = Concat(b, d) {axis=0} " +
           scope +
           "\n"
           "f = Tanh(e) calls=\"/\" statements=\"net.py:6 z\"\noutput f\n";
  };
  const std::string here = joined("calls=\"/\" statements=\"net.py:5 z\"");
  CHECK(held_until(here, "b") == 5);
  CHECK(held_until(here, "d") == 5);
  // Near miss: another call reads them, one by one for all that is known (a U-Net's pops them).
  const std::string within = joined("calls=\"/up\" statements=\"net.py:5 z;up.py:1 y\"");
  CHECK(held_until(within, "b") == 4);
}

TEST_CASE("names: results of a function go to the names that are there when they are read") {
  const auto written = [](const std::string& again) {
    return "first = Relu(x) calls=\"/\" statements=\"net.py:1 q,token\"\n"
           "q = Exp(x) calls=\"/\" statements=\"net.py:1 q,token\"\n"
           "pooled = Tanh(q) calls=\"/\" statements=\"net.py:2 " +
           again +
           "\"\n"
           "joined = Add(pooled, first) calls=\"/\" statements=\"net.py:3 y\"\n"
           "z = Exp(joined) calls=\"/\" statements=\"net.py:4 z\"\noutput z\n";
  };
  CHECK(held_until(written("q"), "first") == 4);
  CHECK(held_until(written("q"), "q") == 2);
  // Near miss: no name goes, the order is that of the nodes.
  CHECK(held_until(written("p"), "q") == 4);
}

// hidden, context = whole[:, :n], whole[:, n:], of which the context is of no use to the last
// block.
TEST_CASE("names: what a call cuts off for a name that nobody reads holds the whole") {
  const auto cut = [](const std::string& names, const std::string& reader) {
    return "const z: i64[1] = [0]; const n: i64[1] = [3]\n"
           "whole = Relu(x) calls=\"/attn\" statements=\"net.py:1 " +
           names +
           ";attn.py:1\"\n"
           "part = Slice(whole, z, n, z) calls=\"/attn\" statements=\"net.py:1 " +
           names +
           ";attn.py:1\"\n"
           "made = " +
           reader + " calls=\"/attn\" statements=\"net.py:1 " + names +
           ";attn.py:1\"\n"
           "y = Exp(made) calls=\"/\" statements=\"net.py:2 y\"\n"
           "z2 = Exp(y) calls=\"/\" statements=\"net.py:3 y\"\noutput z2\n";
  };
  CHECK(held_until(cut("hidden,context", "Tanh(part)"), "whole") == 4);
  CHECK(held_until(cut("hidden", "Tanh(part)"), "whole") == kNoNode);
  CHECK(held_until(cut("hidden,context", "Sum(part, whole)"), "whole") == kNoNode);
}

}  // namespace
}  // namespace plimsoll
