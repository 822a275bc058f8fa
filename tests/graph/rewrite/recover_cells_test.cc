// LSTMCell and GRUCell, called step by step.
#include <doctest/doctest.h>

#include "tests/support/recovered.h"

namespace plimsoll {

using test::op_names;
using test::Ops;
using test::recovered;

namespace {

// `product`: what the two products belong to.
Graph lstm(const std::string& product, const std::string& result = "Tanh(c1)") {
  const std::string module = " module=\"cell\"\n";
  return recovered(R"(opset 17
input x: f32[B,8]
input h: f32[B,16]
input c: f32[B,16]
param cell.w_ih: f32[64,8]
param cell.w_hh: f32[64,16]
param cell.b_ih: f32[64]
param cell.b_hh: f32[64]
u = Gemm(h, cell.w_hh, cell.b_hh) {transB=1} module=")" +
                   product + "\"\nv = Gemm(x, cell.w_ih, cell.b_ih) {transB=1} module=\"" +
                   product + "\"\na = Add(u, v)" + module +
                   "i, f, g, o = Split(a) {axis=1, num_outputs=4}" + module + "si = Sigmoid(i)" +
                   module + "sf = Sigmoid(f)" + module + "tg = Tanh(g)" + module +
                   "so = Sigmoid(o)" + module + "kept = Mul(sf, c)" + module + "new = Mul(si, tg)" +
                   module + "c1 = Add(kept, new)" + module + "t = " + result + module +
                   "h1 = Mul(so, t)" + module + "output h1\noutput c1\n");
}

Graph gru(const std::string& difference) {
  return recovered(R"(opset 17
input x: f32[B,8]
input h: f32[B,16]
param w_ih: f32[48,8]
param w_hh: f32[48,16]
one = Transpose(w_ih) {perm=[1,0]}
other = Transpose(w_hh) {perm=[1,0]}
u = MatMul(x, one)
v = MatMul(h, other)
xr, xz, xn = Split(u) {axis=1, num_outputs=3}
hr, hz, hn = Split(v) {axis=1, num_outputs=3}
ar = Add(hr, xr)
az = Add(hz, xz)
r = Sigmoid(ar)
z = Sigmoid(az)
reset = Mul(hn, r)
an = Add(xn, reset)
n = Tanh(an)
d = )" + difference +
                   R"(
m = Mul(d, z)
y = Add(m, n)
output y
)");
}

}  // namespace

TEST_CASE("an LSTM cell is one node; one that somebody wrote of layers stays in pieces") {
  const Graph cell = lstm("cell");
  REQUIRE(op_names(cell) == Ops{"RecurrentCell"});
  const Node& node = cell.nodes[0];
  CHECK(node.outputs == cell.outputs);
  const auto name = [&](size_t input) { return cell.tensors[node.inputs[input]].name; };
  CHECK(name(0) == "x");
  CHECK(name(1) == "h");
  CHECK(name(2) == "c");
  CHECK(name(3) == "cell.w_ih");
  CHECK(name(6) == "cell.b_hh");
  CHECK(op_names(lstm("cell.of_x")).size() == 13);
  CHECK(op_names(lstm("cell", "Sigmoid(c1)")).size() == 13);
}

TEST_CASE("a GRU cell without biases is one node") {
  const Graph cell = gru("Sub(h, n)");
  REQUIRE(op_names(cell) == Ops{"RecurrentCell"});
  CHECK(cell.nodes[0].inputs[2] == kNoTensor);
  CHECK(cell.nodes[0].inputs[6] == kNoTensor);
  CHECK(op_names(gru("Sub(n, h)")).size() > 10);
}

}  // namespace plimsoll
