#include "graph/exporter/folded_weights.h"

#include <doctest/doctest.h>

#include "tests/support/classified.h"

namespace plimsoll {
using test::classified;
using test::Classified;

TEST_CASE("both halves of an affine layer are trained where both were folded") {
  const Classified model = classified(R"(opset 20
input x: f32[B,8,4,4]
param conv.weight: f32[8,8,1,1]
param view_1: f32[8,1,1]
param view_2: f32[8,1,1]
param view_3: f32[4]
c = Conv(x, conv.weight)
scaled = Mul(c, view_1)
shifted = Add(scaled, view_2)
out = Add(shifted, view_3)
output out
)");
  CHECK(model["view_1"] == WeightRole::kTrained);
  CHECK(model["view_2"] == WeightRole::kTrained);
  CHECK(model["view_3"] == WeightRole::kComputed);
}

TEST_CASE("a module that lacks as many parameters as its code reads folded arrays has them there") {
  const std::string_view text = R"(opset 20
input x: f32[B,4,8]
param exp_1: f32[4,8]
param val_3: f32[8,8]
param mean_1: f32[4,8]
a = Mul(x, exp_1) module="layer.mixer"
y = MatMul(a, val_3) module="layer.mixer.out"
z = Add(y, mean_1) module="layer"
output z
)";
  const Classified two = classified(text, {"layer.mixer.A_log", "layer.mixer.out.weight"});
  CHECK(two["exp_1"] == WeightRole::kTrained);
  CHECK(two["mean_1"] == WeightRole::kComputed);
  const Classified one = classified(text, {"layer.mixer.out.weight"});
  CHECK(one["exp_1"] == WeightRole::kComputed);  // a table
  // A mean has fewer numbers than what it is of.
  const std::set<std::string, std::less<>> all = {"layer.a", "layer.b.c", "layer.d"};
  CHECK(classified(text, all)["mean_1"] == WeightRole::kComputed);
}

// CLIP's logit_scale.exp(), which the exporter computed.
TEST_CASE("numbers called after an operator are trained where the module lacks one for each") {
  const std::string_view text = R"(opset 20
input x: f32[B,8]
param fc.weight: f32[8,8]
param exp: f32[]
param val_4: f32[]
h = MatMul(x, fc.weight)
s = Mul(h, exp)
y = Add(s, val_4)
output y
)";
  CHECK(classified(text, {"logit_scale"})["exp"] == WeightRole::kTrained);
  CHECK(classified(text, {"logit_scale"})["val_4"] != WeightRole::kTrained);
  CHECK(classified(text)["exp"] != WeightRole::kTrained);
}

TEST_CASE("rows that are repeated for every sample are learned tokens") {
  const Classified model = classified(R"(opset 20
input x: f32[B,8]
param unsqueeze: f32[1,6,8]
param unsqueeze_1: f32[6,1,8]
param unsqueeze_2: f32[1,8,8]
param unsqueeze_3: f32[1,6,2]
param unsqueeze_4: f32[1,6,8]
const zero: i64[] = [0]
const axis: i64[1] = [0]
const ones: i64[2] = [1, 1]
all = Shape(x)
samples = Gather(all, zero)
each = Unsqueeze(samples, axis)
first = Concat(each, ones) {axis=0}
second = Concat(ones, each) {axis=0}
a = Expand(unsqueeze, first)
b = Tile(unsqueeze_1, second)
c = Expand(unsqueeze_2, first)
d = Expand(unsqueeze_3, first)
e = Expand(unsqueeze_4, first)
f = Add(e, unsqueeze_4)
output a
output b
output c
output d
output f
)");
  CHECK(model["unsqueeze"] == WeightRole::kTrained);
  CHECK(model["unsqueeze_1"] == WeightRole::kTrained);
  CHECK(model["unsqueeze_2"] == WeightRole::kComputed);  // a mask has as many columns as rows
  CHECK(model["unsqueeze_3"] == WeightRole::kComputed);  // coordinates
  CHECK(model["unsqueeze_4"] == WeightRole::kComputed);  // added without being repeated
}

TEST_CASE(
    "what a weight leaves of one is no weight, nor is an operator's result without a number") {
  const Classified model = classified(R"(opset 20
input x: f32[B,8]
param fc.weight: f32[8,8]
param sub_1: f32[8]
param _to_copy: f32[8]
y = MatMul(x, fc.weight)
z = Mul(y, sub_1)
out = Add(z, _to_copy)
output out
)");
  CHECK(model["sub_1"] == WeightRole::kComputed);
  CHECK(model["_to_copy"] == WeightRole::kComputed);
}

}  // namespace plimsoll
