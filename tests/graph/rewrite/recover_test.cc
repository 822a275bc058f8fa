// What exporters merged, folded or wrote as something else, undone.
#include "graph/rewrite/recover.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/exporter/weight_roles.h"
#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "tests/support/recovered.h"

namespace plimsoll {
namespace {

using test::op_names;
using test::Ops;
using test::recovered;

}  // namespace

TEST_CASE("a bias of window attention that was looked up gets its table back") {
  const Graph graph = recovered(R"(opset 20
input q: f32[B,3,49,32]
input k: f32[B,3,32,49]
param unsqueeze_1: f32[1,3,49,49]
scores = MatMul(q, k)
y = Add(scores, unsqueeze_1)
output y
)");
  const auto kinds = classify_parameters(graph);
  Dim trained = 0, index = 0;
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& t = graph.tensors[id];
    if (t.kind != TensorKind::kParameter) continue;
    if (kinds[id] == WeightRole::kTrained) trained += elements(*t.shape);
    if (t.name.ends_with("index")) index += elements(*t.shape);
  }
  CHECK(trained == Dim(13 * 13 * 3));
  CHECK(index == Dim(49 * 49));
  // 48 places are no window.
  const Graph other = recovered(R"(opset 20
input q: f32[B,3,48,32]
input k: f32[B,3,32,48]
param unsqueeze_1: f32[1,3,48,48]
scores = MatMul(q, k)
y = Add(scores, unsqueeze_1)
output y
)");
  CHECK(op_names(other) == Ops{"MatMul", "Add"});
}

TEST_CASE("what nobody reads is not computed; what is returned is") {
  const auto left = [](const std::string& returned) {
    return op_names(
        recovered("opset 20\ninput x: f32[B,8]\nparam table: f32[10,8]\ninput at: i64[B]\n"
                  "rows = Gather(table, at)\ntwice = Mul(rows, rows)\ny = Relu(x)\n"
                  "output y\n" +
                  returned));
  };
  CHECK(left("") == Ops{"Relu"});
  CHECK(left("output twice\n") == Ops{"Gather", "Mul", "Relu"});
}

TEST_CASE("chunks are windows of one split; parts that people cut are slices") {
  const auto cut = [](const std::string& bound) {
    return "opset 17\ninput x: f32[B,8]\nconst zero: i64[1] = [0]\nconst " + bound +
           ": i64[1] = [4]\nconst end: i64[1] = [8]\nconst one: i64[1] = [1]\n"
           "a = Slice(x, zero, " +
           bound + ", one)\nb = Slice(x, " + bound + ", " + bound + "2, one)\noutput a\noutput b\n";
  };
  const auto with_end = [&](const std::string& bound) {
    std::string text = cut(bound);
    const size_t at = text.find("const end");
    return text.replace(at, 9, "const " + bound + "2");
  };
  CHECK(op_names(recovered(with_end("/Mul_1"))) == Ops{"Split"});
  CHECK(op_names(recovered(with_end("/Constant_1"))) == Ops{"Slice", "Slice"});
}

TEST_CASE("the end of a tensor before its beginning is a roll") {
  const auto joined = [](const std::string& order) {
    return "opset 17\ninput x: f32[B,8]\nconst zero: i64[1] = [0]\nconst at: i64[1] = [-3]\n"
           "const end: i64[1] = [100]\nconst one: i64[1] = [1]\n"
           "a = Slice(x, at, end, one)\nb = Slice(x, zero, at, one)\n"
           "y = Concat(" +
           order + ") {axis=1}\noutput y\n";
  };
  CHECK(op_names(recovered(joined("a, b"))) == Ops{"Roll"});
  CHECK(op_names(recovered(joined("b, a"))) == Ops{"Slice", "Slice", "Concat"});
}

TEST_CASE("weight norm is one node") {
  const Graph graph = recovered(R"(opset 17
input x: f32[B,8,16]
param c.direction: f32[8,8,3]
param c.length: f32[1,1,3]
norm = ReduceL2(c.direction) {axes=[0,1], keepdims=1}
unit = Div(c.direction, norm)
w = Mul(unit, c.length)
y = Conv(x, w) {kernel_shape=[3]}
output y
)");
  CHECK(op_names(graph) == Ops{"WeightNorm", "Conv"});
}

TEST_CASE("group norm is one node, with the weights it has") {
  const auto norm = [](const std::string& bias) {
    return recovered("opset 17\ninput x: f32[B,8,4,4]\nparam n.weight: f32[8]\n" + bias +
                     "const ones: f32[2] = [1,1]\nconst groups: i64[3] = [0,2,-1]\n"
                     "const to: i64[2] = [1,2]\ng = Reshape(x, groups)\n"
                     "i = InstanceNormalization(g, ones, ones)\ns = Shape(x)\nr = Reshape(i, s)\n"
                     "w = Unsqueeze(n.weight, to)\nm = Mul(r, w)\nv = Unsqueeze(b, to)\n"
                     "y = Add(m, v)\noutput y\n");
  };
  const Graph both = norm("param b: f32[8]\n");
  CHECK(op_names(both) == Ops{"GroupNormalization"});
  CHECK(both.nodes[0].inputs[2] != kNoTensor);
  const Graph one = norm("const b: f32[1] = [0.0]\n");
  CHECK(op_names(one) == Ops{"GroupNormalization"});
  CHECK(one.nodes[0].attributes.integer("num_groups", 0) == 2);
  CHECK(one.nodes[0].inputs[1] != kNoTensor);
  CHECK(one.nodes[0].inputs[2] == kNoTensor);
}

TEST_CASE("group norm of single channels is one node without a Reshape behind it") {
  CHECK(op_names(recovered("opset 20\ninput x: f32[B,2,16]\nparam val_1: f32[2,1]\n"
                           "param val_2: f32[2,1]\nconst ones: f32[2] = [1,1]\n"
                           "const groups: i64[3] = [0,2,-1]\ng = Reshape(x, groups)\n"
                           "i = InstanceNormalization(g, ones, ones)\nm = Mul(i, val_1)\n"
                           "y = Add(m, val_2)\noutput y\n")) == Ops{"GroupNormalization"});
}

TEST_CASE("recurrent layers are one call, whatever is read of them") {
  const std::string layer =
      "opset 20\ninput x: f32[12,B,8]\nparam val_1: f32[2,12,8]\nparam val_2: f32[2,12,4]\n"
      "param val_3: f32[2,24]\nparam val_4: f32[2,3,4]\n";
  const std::string call =
      "y, h = GRU(x, val_1, val_2, val_3, _, val_4) "
      "{hidden_size=4, direction=\"bidirectional\"}\n";
  // Nothing joins the directions of the result.
  const std::string apart =
      "const two: i64[1] = [2]\nt = Transpose(y) {perm=[0,2,1,3]}\n"
      "s = ReduceSum(t, two) {keepdims=0}\noutput s\n";
  const Graph summed = recovered(layer + call + apart);
  CHECK(op_names(summed) == Ops{"Recurrent", "Transpose", "ReduceSum"});
  CHECK(summed.nodes[0].attributes.integer("apart", 0) == 1);
  // Zeros that an exporter folded are no first state: x and four tensors for each direction.
  CHECK(summed.nodes[0].inputs.size() == 9);
  // The newer exporter leaves the result without a name where only the last states are read.
  for (const std::string& one : {call, "_" + call.substr(1)}) {
    const Graph last = recovered(layer + one + "output h\n");
    CHECK(op_names(last) == Ops{"Recurrent"});
    CHECK(last.nodes[0].attributes.integer("apart", 1) == 0);
  }
}

TEST_CASE("calls of one recurrent layer share the weights that an exporter joined") {
  const Graph twice = recovered(
      "opset 20\ninput x: f32[1,B,8]\nparam val_1: f32[1,12,8]\nparam val_2: f32[1,12,4]\n"
      "param val_3: f32[1,24]\ninput a: f32[1,B,4]\n"
      "y, h = GRU(x, val_1, val_2, val_3, _, a) {hidden_size=4}\n"
      "z, g = GRU(x, val_1, val_2, val_3, _, h) {hidden_size=4}\noutput g\n");
  REQUIRE(op_names(twice) == Ops{"Recurrent", "Recurrent"});
  for (size_t i = 1; i < 5; ++i) CHECK(twice.nodes[0].inputs[i] == twice.nodes[1].inputs[i]);
}

TEST_CASE("the framework's GLU is one node; chunks that people multiply are not") {
  const std::string text =
      "opset 17\ninput x: f32[B,8]\nconst lengths: i64[2] = [4,4]\na, b = Split(x, lengths) "
      "{axis=1}\ns = Sigmoid(b)\ny = Mul(a, s)\noutput y\n";
  CHECK(op_names(recovered(text)) == Ops{"Glu"});
  const std::string cut =
      "opset 17\ninput x: f32[B,8]\nconst zero: i64[1] = [0]\nconst /Mul: i64[1] = [4]\n"
      "const /Mul_1: i64[1] = [8]\nconst axis: i64[1] = [1]\na = Slice(x, zero, /Mul, axis)\n"
      "b = Slice(x, /Mul, /Mul_1, axis)\ns = Sigmoid(b)\ny = Mul(a, s)\noutput y\n";
  CHECK(op_names(recovered(cut)) == Ops{"Split", "Sigmoid", "Mul"});
}

TEST_CASE("PyTorch's GELU halves last; one written out by hand stays in pieces") {
  const auto gelu = [](const std::string& products, const std::string& producer) {
    return op_names(
        recovered("opset 17\ninput x: f32[B,8]\nconst root: f32[] = [1.4142135623730951]\n"
                  "const one: f32[] = [1.0]\nconst half: f32[] = [0.5]\nd = Div(x, root)\n"
                  "e = Erf(d)\np = Add(e, one)\n" +
                      products + "output y\n",
                  producer));
  };
  const std::string late = "m = Mul(x, p)\ny = Mul(m, half)\n";
  const std::string early = "m = Mul(x, half)\ny = Mul(m, p)\n";
  CHECK(gelu(late, "pytorch 2.9") == Ops{"Gelu"});
  CHECK(gelu(early, "pytorch 2.9") == Ops{"Div", "Erf", "Add", "Mul", "Mul"});
  CHECK(gelu(early, "tf2onnx") == Ops{"Gelu"});
  // Megatron's form of the tanh is a function of its own in Bloom alone.
  const auto fast = [](const std::string& module) {
    return op_names(recovered(
        "opset 17\ninput x: f32[B,8]\nconst root: f32[] = [0.7978845608]\n"
        "const one: f32[] = [1.0]\nconst half: f32[] = [0.5]\nconst c: f32[] = [0.044715]\n"
        "a = Mul(x, root)\nb = Mul(x, c)\nd = Mul(b, x)\ne = Add(d, one)\nf = Mul(a, e)\n"
        "t = Tanh(f)\np = Add(t, one)\nm = Mul(x, half)\ny = Mul(m, p) module=\"" +
        module + "\"\noutput y\n"));
  };
  CHECK(fast("h.0.mlp.gelu_impl") == Ops{"BloomGelu"});
  CHECK(fast("h.0.mlp.act").size() == 9);
}

TEST_CASE("a difference that is squared and divided was written twice") {
  const std::string text =
      "opset 17\ninput x: f32[B,8]\nconst two: f32[] = [2.0]\nconst eps: f32[] = [0.001]\n"
      "u = ReduceMean(x) {axes=[1]}\nd = Sub(x, u)\np = Pow(d, two)\n"
      "v = ReduceMean(p) {axes=[1]}\na = Add(v, eps)\ns = Sqrt(a)\ny = Div(d, s)\noutput y\n";
  const Ops twice{"ReduceMean", "Sub", "Pow", "ReduceMean", "Add", "Sqrt", "Sub", "Div"};
  CHECK(op_names(recovered(text)) == twice);
  CHECK(op_names(recovered(text + "output d\n")) == twice);
  CHECK(op_names(recovered(text, "tf2onnx")).size() == 7);
  const std::string head = text.substr(0, text.find("s = "));
  const Ops gained{"ReduceMean", "Sub", "Pow", "ReduceMean", "Add", "Pow", "Sub", "Mul", "Div"};
  CHECK(op_names(recovered(head + "param g: f32[8]\nconst half: f32[] = [0.5]\ns = Pow(a, half)\n"
                                  "m = Mul(g, d)\ny = Div(m, s)\noutput y\n")) == gained);
  const Ops reciprocal{"ReduceMean", "Sub", "Pow", "ReduceMean", "Add", "Rsqrt", "Sub", "Mul"};
  CHECK(op_names(recovered(head + "s = Sqrt(a)\nr = Reciprocal(s)\ny = Mul(d, r)\noutput y\n")) ==
        reciprocal);
}

TEST_CASE("a head is the table's own where people scale what they look up, or add sines") {
  const auto weights = [](const std::string& body) {
    const Graph graph = recovered(
        "opset 17\ninput tokens: i64[B,6]\nparam table.weight: f32[50,8]\n"
        "param onnx::MatMul_9: f32[8,50]\nconst scale: f32[] = [2.8]\n"
        "param n.weight: f32[8]\nparam n.bias: f32[8]\nparam angles: f32[6,4]\n"
        "e = Gather(table.weight, tokens)\n" +
        body + "y = MatMul(x, onnx::MatMul_9)\noutput y\n");
    return graph.tensors[graph.nodes.back().inputs[1]].name;
  };
  CHECK(weights("x = Mul(e, scale)\n") == "table.weight");
  const std::string normed = "x = LayerNormalization(v, n.weight, n.bias)\n";
  const std::string turned = "c = Cos(angles)\n";
  const std::string joined = "s = Sin(angles)\nj = Concat(c, s) {axis=1}\nv = Add(e, j)\n";
  CHECK(weights(turned + joined + normed) == "table.weight");
  const std::string rotary = "j = Concat(angles, angles) {axis=1}\nc = Cos(j)\nv = Mul(e, c)\n";
  CHECK(weights(rotary + normed) == "onnx::MatMul_9");
}

}  // namespace plimsoll
