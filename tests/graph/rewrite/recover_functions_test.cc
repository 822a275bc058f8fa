// Distances and bilinear layers that exporters write in pieces.
#include <doctest/doctest.h>

#include "tests/support/recovered.h"

namespace plimsoll {

using test::op_names;
using test::Ops;
using test::recovered;

TEST_CASE("distances of pairs are one node; a root that somebody wrote is not") {
  const auto pairs = [](const std::string& root) {
    return op_names(
        recovered("opset 17\ninput a: f32[B,6,4]\ninput b: f32[B,9,4]\n"
                  "const one: i64[1] = [1]\nconst two: i64[1] = [2]\nconst p: f32[] = [2.0]\n"
                  "const unit: f32[1] = [1.0]\nconst eps: f32[1] = [1e-6]\n"
                  "const last: i64[1] = [-1]\nua = Unsqueeze(a, two)\nub = Unsqueeze(b, one)\n"
                  "d = Sub(ua, ub)\ns = Pow(d, p)\nt = ReduceSum(s, last) {keepdims=0}\n" +
                  root + "\ny = Pow(t, e)\noutput y\n"));
  };
  CHECK(pairs("q = Add(p, eps)\ne = Div(unit, q)") == Ops{"Cdist"});
  CHECK(pairs("e = Reciprocal(p)").size() > 4);
}

TEST_CASE("distances by one product are one node") {
  const Graph graph = recovered(R"(opset 17
input a: f32[B,64,4]
input b: f32[B,96,4]
input ones_a: f32[B,64,1]
input ones_b: f32[B,96,1]
const p: f32[] = [2.0]
const m: f32[] = [-2.0]
const zero: f32[] = [0.0]
const last: i64[1] = [-1]
pa = Pow(a, p)
na = ReduceSum(pa, last) {keepdims=1}
pb = Pow(b, p)
nb = ReduceSum(pb, last) {keepdims=1}
ma = Mul(m, a)
ca = Concat(ma, na, ones_a) {axis=-1}
cb = Concat(b, ones_b, nb) {axis=-1}
t = Transpose(cb) {perm=[0,2,1]}
s = MatMul(ca, t)
c = Max(s, zero)
y = Sqrt(c)
output y
)");
  REQUIRE(op_names(graph) == Ops{"EuclideanDist"});
  CHECK(graph.nodes[0].inputs == std::vector<TensorId>{graph.inputs[0], graph.inputs[1]});
}

TEST_CASE("a bilinear layer is one node where the exporter wrote its pieces") {
  const auto layer = [](const std::string& y) {
    return op_names(
        recovered("opset 20\ninput a: f32[B,8]\ninput b: f32[B,4]\nparam val_2: f32[8,12]\n"
                  "const target: i64[3] = [-1,3,4]\nconst last: i64[1] = [-1]\n"
                  "val_3 = MatMul(a, val_2)\nval_4 = Reshape(val_3, target)\n"
                  "val_5 = Unsqueeze(b, last)\nval_6 = MatMul(val_4, val_5)\n" +
                  y + " = Squeeze(val_6, last)\noutput " + y + "\n"));
  };
  CHECK(layer("val_7") == Ops{"Bilinear"});
  CHECK(layer("squeeze").size() > 3);
}

}  // namespace plimsoll
