// Gathers, scatters and copies that stand for an operator, and weights that were folded.
#include <doctest/doctest.h>

#include "graph/exporter/weight_roles.h"
#include "tests/support/recovered.h"

namespace plimsoll {

using test::op_names;
using test::Ops;
using test::recovered;

TEST_CASE("a gather of all elements in an order made of shapes is a view") {
  const Graph graph = recovered(R"(opset 20
input x: f32[4,8,7,7]
const row: i64[1] = [-1]
param val_3: i64[4,8,1,1]
m = ReduceMean(x) {axes=[2,3], keepdims=0}
flat = Reshape(m, row)
y = Gather(flat, val_3)
output y
)");
  CHECK(op_names(graph) == Ops{"ReduceMean", "Reshape"});
}

TEST_CASE("rows and columns of windows gathered from a padded image are one unfold") {
  const Graph graph = recovered(R"(opset 20
input x: f32[B,8,16,16]
param rows: i64[3,14]
param columns: i64[3,14]
const pads: i64[8] = [0,0,0,0,0,0,0,0]
p = Pad(x, pads)
r = Gather(p, rows) {axis=2}
c = Gather(r, columns) {axis=4}
t = Transpose(c) {perm=[0,1,2,4,3,5]}
output t
)");
  CHECK(op_names(graph) == Ops{"Im2Col"});
  CHECK(graph.nodes[0].inputs == graph.inputs);
  CHECK(graph.nodes[0].attributes.integers("windows") == std::vector<int64_t>{3, 3, 14, 14});
}

TEST_CASE("upsampling that the exporter decomposed is a resize; places that people pick are not") {
  const auto picked = [](const std::string& y) {
    return op_names(
        recovered("opset 20\ninput x: f32[B,8,16,16]\nparam places: i64[32,32,2]\n"
                  "f = Transpose(x) {perm=[2,3,0,1]}\ng = GatherND(f, places)\n" +
                  y + " = Transpose(g) {perm=[2,3,0,1]}\noutput " + y + "\n"));
  };
  CHECK(picked("_unsafe_index_1") == Ops{"Resize"});
  CHECK(picked("index_1") == Ops{"Transpose", "GatherND", "Transpose"});
}

TEST_CASE("windows gathered and averaged are an adaptive pool") {
  const Graph graph = recovered(R"(opset 20
input x: f32[B,8,14,14]
param val_3: i64[4,4,4,4,2]
front = Transpose(x) {perm=[2,3,0,1]}
windows = GatherND(front, val_3)
back = Transpose(windows) {perm=[4,5,0,1,2,3]}
y = ReduceMean(back) {axes=[-3,-1], keepdims=0}
output y
)");
  CHECK(op_names(graph) == Ops{"AdaptiveAveragePool"});
  CHECK(graph.nodes[0].attributes.integers("sizes") == std::vector<int64_t>{4, 4});
}

TEST_CASE("the newer exporter's name tells largest values alone from those with positions") {
  const auto alone = [](const std::string& y) {
    const Graph graph = recovered("opset 20\ninput x: f32[B,8,4]\nconst axis: i64[1] = [-1]\n" + y +
                                  " = ReduceMax(x, axis) {keepdims=0}\noutput " + y + "\n");
    return graph.nodes[0].notes.values_alone;
  };
  CHECK(alone("amax_3"));
  CHECK(!alone("getitem_3"));
}

TEST_CASE("what a pool took spread out to its places is unpooled") {
  const auto spread = [](const std::string& offsets) {
    return recovered(R"(opset 20
input x: f32[B,8,16,16]
input given: i64[B,8,1,1]
const row: i64[1] = [-1]
const zero: i64[] = [0]
const one: i64[] = [1]
const step: i64[] = [256]
const from: i64[2] = [0,0]
const to: i64[2] = [1,1]
const axes: i64[2] = [2,3]
const whole: i64[4] = [-1,8,16,16]
const column: i64[4] = [-1,8,1,1]
y, at = MaxPool(x) {kernel_shape=[2,2], strides=[2,2]}
same, all = MaxPool(x) {kernel_shape=[1,1], strides=[1,1]}
begins = Slice(all, from, to, axes)
places = Sub(at, begins)
extents = Shape(x)
count = Size(x)
n = Div(count, step)
counted = Range(zero, n, one)
starts = Mul(counted, step)
made = Reshape(starts, column)
shifted = Add(places, )" +
                     offsets + R"()
flat = Reshape(shifted, row)
values = Reshape(y, row)
index = Unsqueeze(flat, row)
size = Reshape(count, row)
zeros = ConstantOfShape(size)
put = ScatterND(zeros, index, values)
z = Reshape(put, whole)
output z
)");
  };
  const Graph graph = spread("made");
  REQUIRE(op_names(graph) == Ops{"MaxPool", "MaxUnpool"});
  CHECK(graph.nodes[1].inputs == graph.nodes[0].outputs);
  CHECK(spread("given").nodes.back().op == "Reshape");
}

TEST_CASE("padding of windows is cut off with a copy; a cropped image is a view") {
  const auto layer = [](const std::string& windows) {
    return "opset 17\ninput x: " + windows + R"(
const target: i64[4] = [-1,8,8,16]
const none: i64[2] = [0,0]
const ends: i64[2] = [7,7]
const axes: i64[2] = [1,2]
map = Reshape(x, target)
cut = Slice(map, none, ends, axes)
y = Relu(cut)
output y
)";
  };
  const Graph windows = recovered(layer("f32[B,2,4,2,4,16]"));
  CHECK(op_names(windows) == Ops{"Reshape", "Slice", "Contiguous", "Relu"});
  const Graph image = recovered(layer("f32[B,64,16]"));
  CHECK(op_names(image) == Ops{"Reshape", "Slice", "Relu"});
}

TEST_CASE("the largest value keeps its position where that is asked for too") {
  const Graph graph = recovered(R"(opset 17
input x: f32[B,8]
input z: f32[B,8]
a = ReduceMax(x) {axes=[1], keepdims=0}
b = ArgMax(x) {axis=1, keepdims=0}
c = ReduceMax(z) {axes=[1], keepdims=0}
output a
output b
output c
)");
  CHECK(graph.nodes[0].notes.positions);
  CHECK_FALSE(graph.nodes[2].notes.positions);
}

TEST_CASE("the rest that a trained mix leaves of one is computed from it again") {
  const auto mixed = [](const std::string& weight, const std::string& extents) {
    return recovered("opset 20\ninput a: f32[B,4,8]\ninput b: f32[B,4,8]\nparam " + weight +
                     ": f32[8]\nparam sub_1: f32" + extents + "\np = Mul(" + weight +
                     ", a)\nq = Mul(sub_1, b)\ny = Add(p, q)\noutput y\n");
  };
  const Graph graph = mixed("mix.k", "[8]");
  REQUIRE(op_names(graph) == Ops{"Mul", "Sub", "Mul", "Add"});
  CHECK(graph.nodes[1].inputs[1] == graph.nodes[0].inputs[0]);
  CHECK(op_names(mixed("mix.k", "[4,8]")) == Ops{"Mul", "Mul", "Add"});
  CHECK(op_names(mixed("sub_2", "[8]")) == Ops{"Mul", "Mul", "Add"});
}

TEST_CASE("a folded gate and its complement are computed from one weight again") {
  const auto gated = [](const std::string& gate, const std::string& rest) {
    return recovered("opset 20\ninput a: f32[B,4,8]\ninput b: f32[B,4,8]\nparam " + gate +
                     ": f32[1,4,1]\nparam " + rest + ": f32[1,4,1]\np = Mul(" + rest +
                     ", a)\nq = Mul(" + gate + ", b)\ny = Add(p, q)\noutput y\n");
  };
  const Graph graph = gated("sigmoid_1", "sub");
  CHECK(op_names(graph) == Ops{"Sigmoid", "Sub", "Mul", "Sigmoid", "Mul", "Add"});
  const TensorId weight = graph.nodes[0].inputs[0];
  CHECK(graph.nodes[3].inputs[0] == weight);
  CHECK(classify_parameters(graph)[weight] == WeightRole::kTrained);
  // Weights of branches that have names of their own are what they are.
  CHECK(op_names(gated("mix.sigmoid_1", "mix.sub")) == Ops{"Mul", "Mul", "Add"});
}

TEST_CASE("tokens that become an image are copied; what was an image is not") {
  const auto image = [](const std::string& input) {
    Graph graph = recovered("opset 17\ninput x: " + input +
                            "\nparam w: f32[8,8,2,2]\nconst to: i64[4] = [-1,4,4,8]\n"
                            "a = Reshape(x, to)\nb = Transpose(a) {perm=[0,3,1,2]}\n"
                            "y = Conv(b, w)\noutput y\n");
    return op_names(graph);
  };
  CHECK(image("f32[B,16,8]") == Ops{"Reshape", "Transpose", "Contiguous", "Conv"});
  CHECK(image("f32[B,2,8,8]") == Ops{"Reshape", "Transpose", "Conv"});
}

TEST_CASE("tokens that become a clip are copied; tokens that become an image are not") {
  const auto pooled = [](const std::string& to) {
    return op_names(recovered("opset 17\ninput x: f32[2,1,64,8]\n" + to +
                              "t = Transpose(x) {perm=[0,1,3,2]}\nr = Reshape(t, to)\n"
                              "y = Relu(r)\noutput y\n"));
  };
  CHECK(pooled("const to: i64[5] = [2,8,4,4,4]\n") ==
        Ops{"Transpose", "Reshape", "Contiguous", "Relu"});
  CHECK(pooled("const to: i64[4] = [2,8,8,8]\n") == Ops{"Transpose", "Reshape", "Relu"});
}

}  // namespace plimsoll
