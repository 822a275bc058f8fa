#include "graph/exporter/weight_roles.h"

#include <doctest/doctest.h>

#include "graph/exporter/missing_buffers.h"
#include "tests/support/classified.h"
#include "tests/support/written_by.h"

namespace plimsoll {
using test::classified;
using test::Classified;

// Positions that a module registered as a buffer look like learned ones in all else.
TEST_CASE("what the exporter calls a buffer is none to train") {
  const Classified model = classified(
      "opset 20\ninput x: f32[B,8]\nparam a.positions: f32[8] buffer\n"
      "param b.positions: f32[8]\ny = Add(x, a.positions)\nz = Add(y, b.positions)\noutput z\n");
  CHECK(model["a.positions"] == WeightRole::kBuffer);
  CHECK(model["b.positions"] == WeightRole::kTrained);
}

TEST_CASE("diffusers' sines of patches are a buffer; positions that are picked are learned") {
  const Classified model = classified(R"(opset 17
input x: f32[B,4,8]
input places: i64[4]
param a.pos_embed.pos_embed: f32[1,4,8]
param b.pos_embed.pos_embed: f32[1,9,8]
param pos_embed: f32[1,4,8]
y = Add(x, a.pos_embed.pos_embed)
picked = Gather(b.pos_embed.pos_embed, places) {axis=1}
z = Add(y, picked)
w = Add(z, pos_embed)
output w
)");
  CHECK(model["a.pos_embed.pos_embed"] == WeightRole::kBuffer);
  CHECK(model["b.pos_embed.pos_embed"] == WeightRole::kTrained);
  CHECK(model["pos_embed"] == WeightRole::kTrained);
}

TEST_CASE("weights, statistics, tables and folded results are told apart") {
  const Classified model = classified(R"(opset 20
input x: f32[B,8,4,4]
input tokens: i64[B,4]
const last: i64[1] = [1]
param conv.weight: f32[8,8,1,1]
param bn.weight: f32[8]
param bn.bias: f32[8]
param bn.running_mean: f32[8]
param bn.running_var: f32[8]
param val_7: f32[4,4]
param pos_embed_0: f32[4,4]
param zeros: f32[4,4]
param zeros_1: f32[4,4]
param attn.bias_table: f32[16,2]
param attn.index: i64[32]
param rotary_emb.inv_freq: f32[16]
c = Conv(x, conv.weight)
n = BatchNormalization(c, bn.weight, bn.bias, bn.running_mean, bn.running_var)
placed = Add(n, pos_embed_0)
b = Add(placed, val_7)
z = Add(b, zeros)
a = Add(z, zeros_1)
places = Unsqueeze(attn.index, last)
bias = GatherND(attn.bias_table, places)
flat = Gather(a, attn.index) {axis=3} module="blocks.0.attn"
more = Gather(a, attn.index) {axis=3} module="blocks.1.attn"
s = Shape(tokens)
extents = Cast(s) {to=1}
positions = Unsqueeze(extents, last)
angles = Mul(positions, rotary_emb.inv_freq)
output flat
output bias
output more
output angles
)");
  CHECK(model["conv.weight"] == WeightRole::kTrained);
  CHECK(model["bn.weight"] == WeightRole::kTrained);
  CHECK(model["bn.running_var"] == WeightRole::kBuffer);
  CHECK(model["attn.index"] == WeightRole::kConstant);
  CHECK(model["val_7"] == WeightRole::kComputed);
  CHECK(model["pos_embed_0"] == WeightRole::kTrained);
  CHECK(model["zeros"] == WeightRole::kComputed);
  CHECK(model["attn.bias_table"] == WeightRole::kTrained);
  // One counter of the norm; an index per module that reads it; the frequencies are held twice.
  const auto unwritten = missing_buffers(model.graph, model.kinds);
  REQUIRE(unwritten.size() == 3);
  CHECK(text(unwritten[0]) == "i64[]");
  CHECK(text(unwritten[1]) == "i64[32]");
  CHECK(text(unwritten[2]) == "f32[16]");
}

TEST_CASE("masks and tables of angles are buffers; masks per head and mask tokens are trained") {
  const Classified model = classified(R"(opset 17
input x: f32[B,4,8,8]
param attn.mask: f32[8,8]
param other.mask: f32[1,4,8,8]
param mask_token: f32[1,1,8,8]
param rope.cos: f32[8,8]
param rope.pos_embed: f32[8,8]
param pos_embed: f32[8,8]
param pool.filt: f32[4,1,3,3]
a = Add(x, attn.mask)
b = Add(a, other.mask)
c = Add(b, mask_token)
d = Mul(c, rope.pos_embed)
e = Add(d, pos_embed)
f = Mul(e, rope.cos)
y = Conv(f, pool.filt) {group=4}
output y
)");
  CHECK(model["attn.mask"] == WeightRole::kBuffer);
  CHECK(model["pool.filt"] == WeightRole::kBuffer);
  CHECK(model["rope.pos_embed"] == WeightRole::kBuffer);
  CHECK(model["pos_embed"] == WeightRole::kTrained);
  CHECK(model["rope.cos"] == WeightRole::kBuffer);
  CHECK(model["other.mask"] == WeightRole::kTrained);
  CHECK(model["mask_token"] == WeightRole::kTrained);
}

TEST_CASE("masks are told by what is done with them; slopes and matrices beside data are trained") {
  const Classified model = classified(R"(opset 17
input x: f32[B,1,8,8]
param attn.bias: f32[1,1,16,16]
param attn.triangle: f32[1,1,16,16]
param conv.weight: f32[4,1,3,3]
param conv.mask: f32[4,1,3,3]
param embed_positions.weights: f32[8,8]
param capsules: f32[4,5,8]
param val_5: f32[4,1,1]
const from: i64[2] = [0,0]
const to: i64[2] = [8,8]
const axes: i64[2] = [2,3]
const zero: f32[] = [0.0]
s = Slice(attn.bias, from, to, axes)
hidden = Equal(s, zero)
g = Where(hidden, zero, x)
h = Slice(attn.triangle, from, to, axes)
a = Mul(g, h)
w = Mul(conv.weight, conv.mask)
b = Conv(a, w) {pads=[1,1,1,1]}
p = PRelu(b, val_5)
c = MatMul(capsules, p)
d = Add(p, x)
e = Add(d, embed_positions.weights)
output c
output e
)");
  CHECK(model["attn.bias"] == WeightRole::kBuffer);
  CHECK(model["attn.triangle"] == WeightRole::kBuffer);
  CHECK(model["conv.weight"] == WeightRole::kTrained);
  CHECK(model["conv.mask"] == WeightRole::kBuffer);
  CHECK(model["capsules"] == WeightRole::kTrained);
  CHECK(model["val_5"] == WeightRole::kTrained);
  CHECK(model["embed_positions.weights"] == WeightRole::kBuffer);
}

TEST_CASE("a weight times a number is a weight; a norm without statistics counts no batches") {
  const Classified model = classified(R"(opset 17
input x: f32[B,8]
param gain: f32[8]
const scale: f32[] = [0.5]
scaled = Mul(gain, scale)
y = Mul(x, scaled)
mean = ReduceMean(y) {axes=[0], keepdims=0}
n = BatchNormalization(y, gain, gain, mean, mean)
output n
)");
  CHECK(model["gain"] == WeightRole::kTrained);
  CHECK(missing_buffers(model.graph, model.kinds).empty());
}

TEST_CASE("tables of sines are frozen; tables read from an offset on are trained") {
  const auto kind = [](const std::string& positions) {
    const Classified model = classified(R"(opset 17
input x: f32[B,8,16]
param encoder.embed_positions.weight: f32[32,16]
const zero: i64[] = [0]
const one: i64[] = [1]
const end: i64[] = [8]
const offset: i64[] = [2]
)" + positions + R"(
p = Gather(encoder.embed_positions.weight, at)
y = Add(x, p)
output y
)");
    return model["encoder.embed_positions.weight"];
  };
  CHECK(kind("at = Range(zero, end, one)") == WeightRole::kFrozen);
  CHECK(kind("r = Range(zero, end, one)\nat = Add(r, offset)") == WeightRole::kTrained);
  // BlenderbotSmall trains its positions, and normalises their sum with the words.
  CHECK(kind("at = Range(zero, end, one)\nparam encoder.layernorm_embedding.weight: f32[16]") ==
        WeightRole::kTrained);
}

TEST_CASE(
    "a table picked by positions is a buffer where it is a factor, trained where it is added") {
  const auto kind = [](const std::string& table, const std::string& op) {
    return classified("opset 17\ninput x: f32[B,8,16]\nparam " + table +
                      ": f32[32,16]\nconst zero: i64[] = [0]\nconst one: i64[] = [1]\n"
                      "const end: i64[] = [8]\nat = Range(zero, end, one)\np = Gather(" +
                      table + ", at)\ny = " + op + "(x, p)\noutput y\n")[table];
  };
  CHECK(kind("attn.embed_positions", "Mul") == WeightRole::kBuffer);
  CHECK(kind("attn.embed_positions", "Add") == WeightRole::kTrained);
  CHECK(kind("attn.positions.weight", "Mul") == WeightRole::kTrained);
}

TEST_CASE("the first folded result of its kind has no number") {
  const Classified model = classified(R"(opset 20
input x: f32[B,8,16]
param permute: f32[8,16]
param stem: f32[8,16]
param proj.weight: f32[16,16]
a = Add(x, stem)
b = MatMul(permute, proj.weight)
permute_1 = Transpose(b) {perm=[1,0]}
flat = Transpose(permute_1) {perm=[1,0]}
y = Add(a, flat)
output y
)");
  CHECK(model["permute"] == WeightRole::kComputed);
  CHECK(model["stem"] == WeightRole::kTrained);
}

TEST_CASE("zeros that a mask of the module writes into are made at every step") {
  const auto kind = [](const std::string& condition) {
    auto graph = parse_text(
        "opset 17\ninput x: f32[B,8,8]\ninput given: bool[8,8]\n"
        "param attn.mask: bool[8,8]\nparam zeros: f32[8,8]\n"
        "const low: f32[] = [-1000.0]\nc = Cast(attn.mask) {to=9}\n"
        "m = Where(" +
        condition + ", low, zeros)\ny = Add(x, m)\noutput y\n");
    REQUIRE(graph);
    test::written_by(*graph, "pytorch 2.9");
    for (Tensor& t : graph->tensors)
      if (t.name == "zeros") t.origin = Origin::kGenerated;
    Decider decider(Binding{{"B", 4}});
    Diagnostics warnings;
    REQUIRE(infer(*graph, decider, warnings));
    const auto kinds = classify_parameters(*graph);
    for (TensorId id = 0; id < graph->tensors.size(); ++id) {
      if (graph->tensors[id].name == "zeros") return kinds[id];
    }
    return WeightRole::kTrained;
  };
  CHECK(kind("c") == WeightRole::kComputed);
  CHECK(kind("attn.mask") == WeightRole::kComputed);
  CHECK(kind("given") == WeightRole::kConstant);
}

// A gain of known numbers; frequencies times positions are a table.
TEST_CASE("two arrays whose product a layer multiplies by are trained") {
  const Classified model = classified(R"(opset 17
input x: f32[B,8]
param w: f32[8,8]
const g: f32[8,1] = [1, 2, 3, 4, 5, 6, 7, 8]
param f: f32[1,8]
const n: f32[1,8] = [1, 2, 3, 4, 5, 6, 7, 8]
both = Mul(w, g)
turned = Transpose(both) {perm=[1,0]}
y = MatMul(x, turned)
angles = Mul(f, n)
z = Add(y, angles)
output z
)");
  CHECK(model["w"] == WeightRole::kTrained);
  CHECK(model["f"] == WeightRole::kBuffer);
}

TEST_CASE("a module's own number is a weight; any other is a number") {
  const Classified model = classified(R"(opset 17
input x: f32[B,8]
param block.gain: f32[]
param embed.embed_scale: f32[]
param scale: f32[]
a = Mul(x, block.gain)
b = Mul(a, embed.embed_scale)
y = Mul(b, scale)
output y
)");
  CHECK(model["block.gain"] == WeightRole::kTrained);
  CHECK(model["embed.embed_scale"] == WeightRole::kBuffer);
  CHECK(model["scale"] == WeightRole::kConstant);
}

TEST_CASE("a folded array that an activation reads is trained; one that a sine reads is not") {
  const Classified model = classified(R"(opset 20
input x: f32[B,4,8]
param onnx::Sigmoid_12: f32[1,4,1]
param onnx::Sin_14: f32[1,4,1]
g = Sigmoid(onnx::Sigmoid_12)
s = Sin(onnx::Sin_14)
y = Mul(x, g)
z = Add(y, s)
output z
)");
  CHECK(model["onnx::Sigmoid_12"] == WeightRole::kTrained);
  CHECK(model["onnx::Sin_14"] == WeightRole::kComputed);
}

TEST_CASE(
    "a folded number for each channel that scales features is trained, one for pixels is not") {
  const Classified model = classified(R"(opset 20
input x: f32[B,8,4,4]
param view_1: f32[1,8,1,1]
param view_2: f32[1,8,1,1]
param val_3: f32[1,8,4,4]
param conv.weight: f32[8,8,1,1]
pixels = Mul(x, view_1)
c = Conv(pixels, conv.weight)
scaled = Mul(c, view_2)
out = Mul(scaled, val_3)
output out
)");
  CHECK(model["view_1"] != WeightRole::kTrained);  // images are normalised by constants
  CHECK(model["view_2"] == WeightRole::kTrained);
  CHECK(model["val_3"] != WeightRole::kTrained);
}

TEST_CASE("a folded view of a weight that a norm standardises is trained") {
  const Classified model = classified(R"(opset 20
input x: f32[B,3,4,4]
param view_0: f32[1,16,27]
param gain: f32[16]
param zeros_1: f32[16]
param mean_1: f32[16]
param variance_1: f32[16]
const shape: i64[4] = [16, 3, 3, 3]
standard = BatchNormalization(view_0, gain, zeros_1, mean_1, variance_1)
weight = Reshape(standard, shape)
out = Conv(x, weight)
output out
)");
  CHECK(model["view_0"] == WeightRole::kTrained);
  CHECK(model["gain"] == WeightRole::kTrained);
  CHECK(model["zeros_1"] != WeightRole::kTrained);
}

// x * (weight / sqrt(variance)) + (bias - mean * ...)
TEST_CASE("a norm that is arithmetic on fixed statistics is all buffers") {
  const Classified model = classified(R"(opset 20
input x: f32[B,4,4,16]
param bn.weight: f32[16]
param bn.bias: f32[16]
param bn.running_mean: f32[16]
param bn.running_var: f32[16]
param other.weight: f32[16]
deviation = Sqrt(bn.running_var)
scale = Div(bn.weight, deviation)
centre = Mul(bn.running_mean, scale)
shift = Sub(bn.bias, centre)
y = Mul(x, scale)
z = Add(y, shift)
out = Mul(z, other.weight)
output out
)");
  for (const char* name : {"bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"})
    CHECK(model[name] == WeightRole::kBuffer);
  CHECK(model["other.weight"] == WeightRole::kTrained);
}

}  // namespace plimsoll
