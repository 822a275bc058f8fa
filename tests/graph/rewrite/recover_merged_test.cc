// Activations that an exporter found equal in several branches and wrote once.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/recovered.h"

namespace plimsoll {

using test::op_names;
using test::Ops;
using test::recovered;

namespace {

// `x` of one module, activated in a call of `first` and read there and in `second`.
Graph branches(const std::string& act, const std::string& second,
               const std::string& from = "stem") {
  return recovered(
      "opset 17\ninput image: f32[B,8]\n"
      "param a.weight: f32[8,8]\nparam b.weight: f32[8,8]\nparam c.weight: f32[8,8]\n"
      "x = MatMul(image, a.weight) module=\"" +
      from +
      "\"\n"
      "y = Relu(x) module=\"" +
      act +
      "\"\n"
      "left = MatMul(y, b.weight) module=\"cell.left.fc\"\n"
      "right = MatMul(y, c.weight) module=\"" +
      second +
      "\"\n"
      "z = Add(left, right) module=\"cell\"\noutput z\n");
}

size_t activations(const Graph& graph) {
  const Ops all = op_names(graph);
  return static_cast<size_t>(std::count(all.begin(), all.end(), "Relu"));
}

}  // namespace

TEST_CASE("branches that begin with one activation of a shared map compute their own") {
  const Graph graph = branches("cell.left.act", "cell.right.fc");
  REQUIRE(activations(graph) == 2);
  CHECK(graph.nodes[3].op == "Relu");
  CHECK(graph.nodes[3].module == "cell.right.fc");
  CHECK(graph.nodes[4].inputs[0] == graph.nodes[3].outputs[0]);
  CHECK(graph.nodes[2].inputs[0] == graph.nodes[1].outputs[0]);
}

TEST_CASE("an activation that a call returns is one") {
  // The code around the call reads it.
  CHECK(activations(branches("cell.left.act", "cell")) == 1);
  // Nothing in the call itself does.
  CHECK(activations(branches("cell.act.one", "cell.right.fc")) == 1);
  // The call made what it activates: a block that hands on its map before it is pooled.
  CHECK(activations(branches("cell.left.act", "cell.right.fc", "cell.left.fc")) == 1);
  // Both branches are parts of one call.
  CHECK(activations(branches("cell.act", "cell.right.fc")) == 1);
}

TEST_CASE("heads that compare one input each do so themselves") {
  const Graph graph = recovered(
      "opset 20\ninput near: f32[B,8]\ninput x: f32[B,8]\nconst zero: f32[] = [0.0]\n"
      "seen = Greater(near, zero) module=\"h.0\"\n"
      "y = Where(seen, x, zero) module=\"h.0\"\nz = Where(seen, y, zero) module=\"h.1\"\n"
      "output z\n");
  CHECK(op_names(graph) == Ops{"Greater", "Where", "Greater", "Where"});
}

// mse_loss(z.detach(), predict(h.detach())): the exporter drops detach(), and both sides are one.
TEST_CASE("the sides of a loss that an exporter found equal are computed one by one") {
  const auto compared = [](const std::string& layer, const std::string& loss) {
    return op_names(
        recovered("opset 20\ninput x: f32[B,8]\ninput t: f32[B,8]\n"
                  "param p.weight: f32[8,8]\nparam q.weight: f32[8,8]\n"
                  "h = MatMul(x, p.weight)\n" +
                  layer + loss + "output y\n"));
  };
  const std::string dense = "z = MatMul(h, q.weight)\n";
  CHECK(compared(dense, "y = plimsoll:MseLoss(z, z) {rank=0}\n") ==
        Ops{"MatMul", "MatMul", "Detach", "MatMul", "MseLoss"});
  CHECK(compared(dense, "y = plimsoll:HuberLoss(z, z) {rank=0}\n") ==
        Ops{"MatMul", "MatMul", "Detach", "MatMul", "HuberLoss"});
  CHECK(compared("z = Tanh(h)\n", "y = plimsoll:SmoothL1Loss(z, z) {rank=0}\n") ==
        Ops{"MatMul", "Tanh", "Detach", "Tanh", "SmoothL1Loss"});
  // Near misses: two values; an entropy; a gradient through zero, x - x.detach(); what is given.
  CHECK(compared(dense, "y = plimsoll:MseLoss(z, t) {rank=0}\n") ==
        Ops{"MatMul", "MatMul", "MseLoss"});
  CHECK(compared(dense, "y = plimsoll:BceLoss(z, z) {rank=0}\n") ==
        Ops{"MatMul", "MatMul", "BceLoss"});
  CHECK(compared(dense, "y = Sub(z, z)\n") == Ops{"MatMul", "MatMul", "Sub"});
  CHECK(compared("z = Tanh(h)\nu = MatMul(z, q.weight)\n",
                 "l = plimsoll:MseLoss(t, t) {rank=0}\ny = Add(u, l)\n") ==
        Ops{"MatMul", "Tanh", "MatMul", "MseLoss", "Add"});
}

}  // namespace plimsoll
