// Tables that each layer makes for itself, where the exporter kept the first layer's.
#include <doctest/doctest.h>

#include <algorithm>

#include "graph/exporter/weight_roles.h"
#include "tests/support/recovered.h"

namespace plimsoll {

using test::op_names;
using test::Ops;
using test::recovered;

namespace {

// `table` of B positions, made in the first layer and read in two.
Graph layers(const std::string& table, const std::string& second = "h.1.attn") {
  return recovered(R"(opset 17
input x: f32[8,B]
param encoder.embed_positions.weight: f32[32,8]
const zero: i64[] = [0]
const one: i64[] = [1]
const ones: i64[1] = [1]
const twos: i64[1] = [2]
extents = Shape(x)
end = Gather(extents, one)
at = Range(zero, end, one)
)" + table + R"(
y = Mul(x, table) module="h.0.attn"
z = Mul(y, table) module=")" +
                   second + "\"\noutput z\n");
}

const char* const kAngles =
    "angles = Cast(at) {to=1} module=\"h.0.attn.rotary\"\n"
    "table = Sin(angles) module=\"h.0.attn.rotary\"";

}  // namespace

TEST_CASE("each layer computes its table of positions") {
  const Graph graph = layers(kAngles);
  REQUIRE(op_names(graph) == Ops{"Range", "Cast", "Sin", "Mul", "Cast", "Sin", "Mul"});
  CHECK(graph.nodes[3].inputs[1] == graph.nodes[2].outputs[0]);
  CHECK(graph.nodes[6].inputs[1] == graph.nodes[5].outputs[0]);
  CHECK(graph.nodes[5].inputs[0] == graph.nodes[4].outputs[0]);
  CHECK(graph.nodes[5].module == "h.1.attn");
}

TEST_CASE("a table is shared by modules that are not layers of one list") {
  CHECK(op_names(layers(kAngles, "h.0.mlp")).size() == 5);
  CHECK(op_names(layers(kAngles, "g.1.attn")).size() == 5);
  CHECK(op_names(layers(kAngles, "h.1.mlp")).size() == 5);
}

TEST_CASE("layers read a frozen table of sines themselves; a trained one is handed on") {
  const auto count = [](const std::string& places) {
    return op_names(
               layers("shifted = Add(at, one)\nrows = Gather(encoder.embed_positions.weight, " +
                      places +
                      ")\ntop = ReduceMean(rows) {axes=[1], keepdims=0} module=\"h.0.attn\"\n"
                      "table = Neg(top) module=\"h.0.attn\""))
        .size();
  };
  // Two nodes more, and without the sum that nobody reads.
  CHECK(count("at") == count("shifted") + 2 - 1);
}

TEST_CASE("one number over and over is handed from layer to layer") {
  const Graph graph = layers(
      "size = Slice(extents, ones, twos)\n"
      "table = ConstantOfShape(size) module=\"h.0.attn\"");
  const Ops all = op_names(graph);
  CHECK(std::count(all.begin(), all.end(), "ConstantOfShape") == 1);
}

namespace {

// A table of two columns that a layer projects for each of B samples; `first` writes into zeros.
Graph projected(const std::string& first, const std::string& table) {
  return recovered(R"(opset 20
input x: f32[B,4]
param zeros: f32[1,9,9,2]
param zeros_1: f32[1,9,9,2]
param val_1: i64[1,9,9,1]
param val_2: i64[1,9,9,1]
param repeat: f32[1,9,9,1]
param repeat_1: f32[1,9,9,1]
param proj.weight: f32[2,3]
const one: i64[1] = [1]
const zero: i64[] = [0]
const axis: i64[1] = [0]
const rest: i64[3] = [9,9,2]
all = Shape(x)
samples = Gather(all, zero)
each = Unsqueeze(samples, axis)
extents = Concat(each, rest) {axis=0}
)" + first + R"(
)" + table + R"(
repeated = Expand(table, extents)
y = MatMul(repeated, proj.weight)
output y
)");
}

const char* const kColumn = "column = ScatterElements(zeros, val_1, repeat) {axis=3}";

Dim buffer_elements(const Graph& graph) {
  const auto kinds = classify_parameters(graph);
  Dim all = 0;
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    if (kinds[id] == WeightRole::kBuffer) all += elements(*graph.tensors[id].shape);
  }
  return all;
}

}  // namespace

TEST_CASE("a projected table that is written column by column is its module's buffer") {
  const Graph kept =
      projected(kColumn, "table = ScatterElements(column, val_2, repeat_1) {axis=3}");
  const Ops all = op_names(kept);
  CHECK(std::count(all.begin(), all.end(), "ScatterElements") == 0);
  CHECK(buffer_elements(kept) == Dim(9 * 9 * 2));
}

TEST_CASE("a projected table that is a formula is computed at every step") {
  const Graph sines = projected(kColumn, "table = Sin(column)");
  const Ops all = op_names(sines);
  CHECK(std::count(all.begin(), all.end(), "ScatterElements") == 1);
  CHECK(buffer_elements(sines) == Dim(0));
}

TEST_CASE("a projected table whose columns are the batch's own is no buffer") {
  const Graph fed = projected(
      "most = ReduceMax(x) {keepdims=0}\nscaled = Mul(repeat, most)\n"
      "column = ScatterElements(zeros, val_1, scaled) {axis=3}",
      "table = ScatterElements(column, val_2, repeat_1) {axis=3}");
  CHECK(buffer_elements(fed) == Dim(0));
}

}  // namespace plimsoll
