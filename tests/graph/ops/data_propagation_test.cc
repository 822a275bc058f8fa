#include "graph/ops/data_propagation.h"

#include <doctest/doctest.h>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"

namespace plimsoll {
namespace {

// The extents of the graph's output.
std::string extents(const std::string& text) {
  auto graph = parse_text(text);
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  Decider decider(Binding{{"B", 4}});
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  const Shape& shape = *graph->tensors[graph->outputs.front()].shape;
  std::string all;
  for (const Dim& dim : shape) all += (all.empty() ? "" : ",") + dim.text();
  return all;
}

}  // namespace

TEST_CASE("a side length that is the root of a count is followed") {
  CHECK(extents("opset 17\ninput x: f32[1,256,8]\nconst n: f32[1] = [256.0]\n"
                "const half: f32[1] = [0.5]\nr = Pow(n, half)\nside = Cast(r) {to=7}\n"
                "const one: i64[1] = [1]\nconst c: i64[1] = [8]\n"
                "to = Concat(one, side, side, c) {axis=0}\ny = Reshape(x, to)\noutput y\n") ==
        "1,16,16,8");
}

TEST_CASE("repeats that a one-hot vector puts among ones are followed") {
  CHECK(extents("opset 17\ninput x: f32[B,1,8]\nconst at: i64[1] = [1]\nconst rank: i64[] = [3]\n"
                "const values: i64[2] = [1,5]\nh = OneHot(at, rank, values)\n"
                "const flat: i64[1] = [-1]\nto = Reshape(h, flat)\ny = Tile(x, to)\noutput y\n") ==
        "B,5,8");
}

TEST_CASE("an extent that is replaced in a list of extents is followed") {
  CHECK(extents("opset 17\ninput x: f32[B,6,8]\nparam w: f32[1,5,1]\nconst axis: i64[1] = [1]\n"
                "const five: i64[1] = [5]\ns = Shape(x)\n"
                "to = ScatterElements(s, axis, five) {axis=0}\ny = Expand(w, to)\noutput y\n") ==
        "B,5,8");
}

// As detectors scale an image so that its shorter side is 800 and its longer at most 1333.
TEST_CASE("a scale computed with reciprocals is followed") {
  CHECK(extents("opset 17\ninput x: f32[B,3,320,320]\nconst side: f32[2] = [320.0,320.0]\n"
                "const short: f32[] = [800.0]\nconst long: f32[] = [1333.0]\n"
                "const whole: f32[1] = [320.0]\nconst rest: i64[2] = [4,3]\n"
                "low = ReduceMin(side) {keepdims=0}\nhigh = ReduceMax(side) {keepdims=0}\n"
                "a = Reciprocal(low)\nb = Mul(a, short)\nc = Reciprocal(high)\n"
                "d = Mul(c, long)\nscale = Min(b, d)\ne = Mul(whole, scale)\nf = Floor(e)\n"
                "g = Cast(f) {to=7}\nparam w: f32[1,1]\nto = Concat(rest, g) {axis=0}\n"
                "y = Expand(w, to)\noutput y\n") == "4,3,800");
}

}  // namespace plimsoll
