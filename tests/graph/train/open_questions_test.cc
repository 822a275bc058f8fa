#include "graph/train/open_questions.h"

#include <doctest/doctest.h>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "graph/rewrite/recover.h"
#include "graph/rewrite/written_weights.h"
#include "tests/support/written_by.h"

namespace plimsoll {
namespace {

// "2 activations may ...: 512 less, 0 more", of a file of TorchScript's.
std::string left_open(const std::string& text) {
  auto graph = parse_text("opset 17\n" + text);
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  test::written_by(*graph, "pytorch 2.9");
  Decider decider(Binding{{"B", 4}});
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  find_written_weights(*graph);
  recover(*graph, &decider);
  const OpenQuestions open = open_questions(*graph, classify_parameters(*graph));
  std::string said;
  for (const Diagnostic& d : open.warnings) {
    CHECK(d.code == "W237");
    said += d.message.substr(0, d.message.find(" may")) + ": ";
  }
  return said + open.less.text() + " less, " + open.more.text() + " more";
}

}  // namespace

TEST_CASE("what a file leaves open is said, with the bytes that hang on it") {
  const std::string layer =
      "input x: f32[B,8,4,4]\nparam c.weight: f32[8,8,1,1]\nh = Conv(x, c.weight)\n";
  CHECK(left_open(layer + "y = Relu(h)\noutput y\n") == "0 less, 0 more");
  // A map of 8 x 16 numbers a sample: kept beside its activation, or not.
  CHECK(left_open(layer + "y = LeakyRelu(h) {alpha=0.01}\noutput y\n") ==
        "1 activation: 512*B less, 0 more");
  CHECK(left_open(layer + "y = LeakyRelu(h) {alpha=0.2}\noutput y\n") ==
        "1 activation: 0 less, 512*B more");
  CHECK(left_open(layer + "y = Exp(h) no_grad\noutput y\n") == "1 operator: 0 less, 512*B more");
  // A grid that the input is compared with; what has a gradient anyway hangs on nothing.
  const std::string grid =
      "input x: f32[B,8,1]\nparam m.grid: f32[8,4]\nparam m.weight: f32[4,8]\n"
      "param n.weight: f32[1,4]\n";
  CHECK(left_open(grid + "d = Sub(x, m.grid)\ne = Exp(d)\ny = MatMul(e, m.weight)\noutput y\n") ==
        "1 array of arithmetic: 256*B less, 0 more");
  // Nor does what is computed of weights alone: a gain of a weight.
  CHECK(left_open(grid + "g = Mul(m.grid, m.grid)\nh = MatMul(x, n.weight)\ny = Add(h, g)\n"
                         "output y\n") == "0 less, 0 more");
  CHECK(left_open(grid + "h = MatMul(x, n.weight)\ny = Mul(h, m.grid)\noutput y\n") ==
        "0 less, 0 more");
}

// What only the first input's pass makes: 256 bytes a sample of each layer. A weight that reads
// what weights made is passed twice by one input.
TEST_CASE("a layer that two inputs pass may run without gradients for one of them") {
  const std::string inputs =
      "input x: f32[B,64]\ninput y: f32[B,64]\nparam a.weight: f32[64,64]\n"
      "param b.weight: f32[64,64]\n";
  CHECK(left_open(inputs + "t = MatMul(y, a.weight)\nu = Relu(t)\ns = MatMul(x, a.weight)\n"
                           "v = Relu(s)\nz = Mul(u, v)\noutput z\n") ==
        "1 layer: 512*B less, 0 more");
  CHECK(left_open(inputs + "t = MatMul(y, a.weight)\nu = MatMul(t, b.weight)\n"
                           "s = MatMul(x, b.weight)\nz = Mul(u, s)\noutput z\n") ==
        "0 less, 0 more");
}

// The input, 64 numbers a sample, and the result, 4 or 16.
TEST_CASE("a maximum along one dimension may be of values only") {
  const std::string layer =
      "input x: f32[B,4,8]\nparam a.weight: f32[8,16]\nh = MatMul(x, a.weight)\n";
  const std::string one = "1 reduction to a maximum or minimum: 0 less, ";
  CHECK(left_open(layer + "y = ReduceMax(h) {axes=[2], keepdims=0}\noutput y\n") ==
        one + "272*B more");
  CHECK(left_open(layer + "y = ReduceMin(h) {axes=[1]}\noutput y\n") == one + "320*B more");
  CHECK(left_open("input x: f32[B,64]\nparam a.weight: f32[64,64]\nh = MatMul(x, a.weight)\n"
                  "y = ReduceMax(h) {axes=[-1]}\noutput y\n") == one + "260*B more");
  // torch.amax() alone takes two; positions that are read were asked for; a name tells.
  CHECK(left_open(layer + "max_1 = ReduceMax(h) {axes=[2]}\noutput max_1\n") == "0 less, 0 more");
  CHECK(left_open(layer + "y = ReduceMax(h) {axes=[1,2]}\noutput y\n") == "0 less, 0 more");
  CHECK(left_open(layer +
                  "y = ReduceMax(h) {axes=[2]}\ni = ArgMax(h) {axis=2}\noutput y\noutput i\n") ==
        "0 less, 0 more");
}

// Its exporter drops detach(): h, 32 numbers a sample, has a gradient of the second side or none.
TEST_CASE("a loss of a value and itself may have gradients of both sides") {
  const std::string layers =
      "input x: f32[B,8]\nparam p.weight: f32[8,32]\nparam q.weight: f32[32,8]\n"
      "h = MatMul(x, p.weight)\nz = MatMul(h, q.weight)\n";
  CHECK(left_open(layers + "y = plimsoll:MseLoss(z, z) {rank=0}\noutput y\n") ==
        "1 loss of a value and itself: 0 less, 128*B more");
  CHECK(left_open(layers + "y = plimsoll:MseLoss(z, x) {rank=0}\noutput y\n") == "0 less, 0 more");
}

}  // namespace plimsoll
