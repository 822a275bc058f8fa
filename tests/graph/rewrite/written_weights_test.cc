#include "graph/rewrite/written_weights.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "graph/exporter/weight_roles.h"
#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "graph/rewrite/recover.h"
#include "tests/support/written_by.h"

namespace plimsoll {
namespace {

// The names of what is trained, of a file whose parameters all stood in it as Constant nodes.
std::set<std::string> trained(std::string_view text, const std::string& producer = "") {
  auto graph = parse_text(text);
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  test::written_by(*graph, producer);
  for (Tensor& t : graph->tensors)
    if (t.kind == TensorKind::kParameter) t.origin = Origin::kGenerated;
  Decider decider(Binding{{"B", 4}});
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  find_written_weights(*graph);
  recover(*graph, &decider);
  const auto kinds = classify_parameters(*graph);
  std::set<std::string> names;
  for (TensorId id = 0; id < kinds.size(); ++id) {
    const Tensor& t = graph->tensors[id];
    if (t.kind == TensorKind::kParameter && kinds[id] == WeightRole::kTrained) names.insert(t.name);
  }
  return names;
}

using NameSet = std::set<std::string>;

}  // namespace

TEST_CASE("constants in the weight places of layers are weights, whatever their size") {
  constexpr std::string_view kText = R"(opset 13
input x: f32[B,3,8,8]
param w: f32[8,3,3,3]
param scale: f32[8]
param shift: f32[8]
param mean: f32[8]
param var: f32[8]
const slope: f32[1] = [0.25]
param dense: f32[8,10]
const bias: f32[10] = [0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0]
c = Conv(x, w)
n = BatchNormalization(c, scale, shift, mean, var)
p = PRelu(n, slope)
g = GlobalAveragePool(p)
f = Flatten(g)
m = MatMul(f, dense)
y = Add(m, bias)
output y
)";
  const NameSet weights{"w", "scale", "shift", "slope", "dense", "bias"};
  CHECK(trained(kText) == weights);
  CHECK(trained(kText, "pytorch 2.9") == weights);  // a script that was frozen
}

TEST_CASE("a constant bias is one behind a reshape too") {
  CHECK(trained(R"(opset 13
input x: f32[B,3,8,8]
param w: f32[8,3,3,3]
const b: f32[8] = [0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0]
const to: i64[4] = [1,8,1,1]
c = Conv(x, w)
r = Reshape(b, to)
y = Add(c, r)
output y
)") == NameSet{"w", "b"});
}

TEST_CASE("weights written by their extents are weights") {
  CHECK(trained(R"(opset 13
input x: f32[B,16]
const extents: i64[2] = [16,32]
const length: i64[1] = [32]
w = ConstantOfShape(extents)
b = ConstantOfShape(length)
y = Gemm(x, w, b)
output y
)") == NameSet{"w", "b"});
}

TEST_CASE("scale and shift of a norm in pieces are weights") {
  CHECK(trained(R"(opset 17
input x: f32[B,9,16]
param scale: f32[16]
param shift: f32[16]
param gain: f32[16]
const eps: f32[] = [0.00001]
mean = ReduceMean(x) {axes=[-1]}
d = Sub(x, mean)
square = Mul(d, d)
var = ReduceMean(square) {axes=[-1]}
safe = Add(var, eps)
root = Sqrt(safe)
normal = Div(d, root)
scaled = Mul(normal, scale)
shifted = Add(scaled, shift)
again = Div(shifted, root)
y = Mul(again, gain)
output y
)") == NameSet{"scale", "shift", "gain"});
}

TEST_CASE("a matrix is one on either side of a product") {
  CHECK(trained(R"(opset 13
input x: f32[B,16]
param left: f32[8,16]
param right: f32[16,4]
param heads: f32[4,2,3]
t = Transpose(x) {perm=[1,0]}
l = MatMul(left, t)
r = MatMul(x, right)
e = Einsum(r, heads) {equation="bi,ijk->bjk"}
output l
output e
)") == NameSet{"left", "right", "heads"});
}

TEST_CASE("a table that inputs index is an embedding; one that positions index is a table") {
  CHECK(trained(R"(opset 13
input ids: i64[B,4]
param words: f32[100,16]
param sines: f32[64,16]
const zero: i64[] = [0]
const one: i64[] = [1]
const axes: i64[1] = [0]
shape = Shape(ids)
length = Gather(shape, one)
places = Range(zero, length, one)
e = Gather(words, ids)
s = Gather(sines, places)
y = Add(e, s)
output y
)") == NameSet{"words"});
}

TEST_CASE("gates that are sliced and stacked are one weight; first states are none") {
  const NameSet weights = trained(R"(opset 13
input x: f32[4,B,8]
param w: f32[16,8]
param r: f32[1,16,4]
param first: f32[1,4,4]
param cell: f32[1,4,4]
const i0: i64[1] = [0]
const i8: i64[1] = [8]
const i16: i64[1] = [16]
upper = Slice(w, i0, i8, i0)
lower = Slice(w, i8, i16, i0)
gates = Concat(lower, upper) {axis=0}
all = Unsqueeze(gates, i0)
y, h, c = LSTM(x, all, r, _, _, first, cell) {hidden_size=4}
output y
)");
  CHECK_FALSE(weights.empty());
  for (const std::string& name : weights) CHECK((name.starts_with("all") || name.starts_with("r")));
}

TEST_CASE("what is merely computed with stays constant") {
  constexpr std::string_view kText = R"(opset 17
input x: f32[B,3,8,8]
input ids: i64[B,4]
const means: f32[3] = [0.4,0.5,0.6]
const to: i64[4] = [1,3,1,1]
param deviations: f32[1,3,1,1]
param mask: f32[8,8]
const half: f32[1] = [0.5]
param frequencies: f32[2,1]
const one: i64[1] = [1]
const two: i64[1] = [2]
param scores: f32[1,1,8,8]
param out_scale: f32[3]
m = Reshape(means, to)
a = Sub(x, m)
b = Div(a, deviations)
c = Mul(b, mask)
d = Mul(c, half)
scored = Softmax(d) {axis=-1}
e = Add(scored, scores)
shape = Shape(ids)
n = Slice(shape, one, two)
count = Cast(n) {to=1}
row = Unsqueeze(count, one)
angles = MatMul(frequencies, row)
f = Sin(angles)
rows = Transpose(e) {perm=[0,2,3,1]}
y = Mul(rows, out_scale)
output y
output f
)";
  CHECK(trained(kText).empty());
  CHECK(trained(kText, "pytorch 2.9").empty());
}

TEST_CASE("ones that PyTorch's exporter gives a norm without a scale are no weights") {
  constexpr std::string_view kText = R"(opset 17
input x: f32[B,8,4,4]
param ones: f32[8]
param zeros: f32[8]
y = InstanceNormalization(x, ones, zeros)
output y
)";
  CHECK(trained(kText, "pytorch 2.9").empty());
  CHECK(trained(kText) == NameSet{"ones", "zeros"});
}

}  // namespace plimsoll
