// Parts of tensors that are written to, as exporters write it.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/recovered.h"

namespace plimsoll {

using test::op_names;
using test::Ops;
using test::recovered;

namespace {

// What the node of this operator reads, by name.
std::vector<std::string> read_by(const Graph& graph, std::string_view op) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) {
    if (node.op != op) continue;
    for (const TensorId in : node.inputs) names.push_back(graph.tensors[in].name);
  }
  return names;
}

}  // namespace

TEST_CASE("an assignment to a part of a tensor is a copy in place") {
  const Graph graph = recovered(R"(opset 17
input x: f32[B,8]
input y: f32[B,4]
const from: i64[] = [0]
const to: i64[] = [4]
const step: i64[] = [1]
const last: i64[1] = [-1]
part = Relu(y)
whole = Relu(x)
range = Range(from, to, step)
places = Unsqueeze(range, last)
z = ScatterND(whole, places, part)
output z
)");
  CHECK(graph.nodes.back().op == "Assign");
  CHECK(graph.nodes.back().inputs.size() == 2);
}

// x[:, index] = y, where the places are made of the rows' numbers and an array.
TEST_CASE("values that are put where an array says keep the array alone") {
  const Graph graph = recovered(R"(opset 17
input x: f32[2,8]
input y: f32[2,3]
param index: i64[3]
const rows: i64[2,1] = [0,1]
const both: i64[2] = [2,3]
const last: i64[1] = [-1]
part = Relu(y)
whole = Relu(x)
row = Expand(rows, both)
row1 = Unsqueeze(row, last)
column = Expand(index, both)
column1 = Unsqueeze(column, last)
places = Concat(row1, column1) {axis=2}
z = ScatterND(whole, places, part)
output z
)");
  CHECK(read_by(graph, "IndexPut") == std::vector<std::string>{"whole", "index", "part"});
}

// x[:, 2:6, 4:7] = y: the newer exporter writes a part of a part, then that part.
TEST_CASE("an assignment to a part of a part is one") {
  const auto written = [](const std::string& whole) {
    return recovered(R"(opset 20
input x: f32[B,8,9]
input y: f32[B,4,3]
const a: i64[1] = [2]
const b: i64[1] = [6]
const one: i64[1] = [1]
const i: i64[3,1] = [4,5,6]
const j: i64[4,1] = [2,3,4,5]
v = Relu(y)
w = Relu(x)
other = Exp(x)
part = Slice()" + whole +
                     R"(, a, b, one)
t1 = Transpose(part) {perm=[2,1,0]}
t2 = Transpose(v) {perm=[2,1,0]}
s1 = ScatterND(t1, i, t2)
t3 = Transpose(s1) {perm=[1,2,0]}
t4 = Transpose(w) {perm=[1,0,2]}
s2 = ScatterND(t4, j, t3)
z = Transpose(s2) {perm=[1,0,2]}
output z
)");
  };
  CHECK(op_names(written("w")) == Ops{"Relu", "Relu", "Transpose", "Assign"});
  CHECK(op_names(written("other")).size() > 4);
}

TEST_CASE("a part that is scattered into a tensor of its own is no assignment") {
  const auto written = [](const std::string& name, const std::string& rest) {
    return recovered(R"(opset 20
input x: f32[B,8]
input y: f32[B,2]
const i: i64[2,1] = [2,3]
w = Relu(x)
t = Transpose(w) {perm=[1,0]}
v = Transpose(y) {perm=[1,0]}
s = ScatterND(t, i, v)
)" + name + " = Transpose(s) {perm=[1,0]}\nz = " +
                     rest + "(" + name + ")\nout = Relu(z)\noutput out\n");
  };
  CHECK(op_names(written("slice_scatter", "Exp"))[2] == "SliceScatter");
  CHECK(op_names(written("slice_scatter", "Identity"))[2] == "Assign");
  CHECK(op_names(written("put", "Exp"))[2] == "Assign");
}

TEST_CASE("what is read after a part of it was assigned was cloned before") {
  const auto written = [](const std::string& later) {
    return recovered(R"(opset 20
input x: f32[8,4]
input y: f32[2,4]
const i: i64[2,1] = [2,3]
w = Relu(x)
early = Exp(w)
s = ScatterND(w, i, y)
z = Add(s, )" + later +
                     R"()
output z
)");
  };
  const auto is_cloned = [](const Graph& graph) {
    const auto node = std::ranges::find(graph.nodes, "Assign", &Node::op);
    REQUIRE(node != graph.nodes.end());
    return node->attributes.integer("cloned", 0) == 1;
  };
  CHECK(is_cloned(written("w")));
  CHECK_FALSE(is_cloned(written("early")));
}

}  // namespace plimsoll
