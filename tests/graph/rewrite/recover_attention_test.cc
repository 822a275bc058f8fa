// Attention as exporters write it, with its masks.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "tests/support/recovered.h"
#include "tests/support/written_by.h"

namespace plimsoll {

using test::op_names;
using test::Ops;
using test::recovered;

TEST_CASE("multi-head attention makes numbers of a mask before it has the mask's views") {
  const auto layer = [](const std::string& mask) {
    return recovered(
        "opset 17\ninput q: f32[B,2,8,16]\ninput k: f32[B,2,16,8]\n"
        "input v: f32[B,2,8,16]\nconst s: f32[] = [0.5]\nparam attn.mask: bool[8,8]\n"
        "const low: f32[] = [-1000.0]\nconst zero: f32[] = [0.0]\n"
        "const axes: i64[2] = [0, 1]\nqs = Mul(q, s)\nks = Mul(k, s)\n"
        "scores = MatMul(qs, ks)\n" +
        mask +
        "\nmasked = Add(scores, views)\nw = Softmax(masked) {axis=-1}\n"
        "y = MatMul(w, v)\noutput y\n");
  };
  const Graph held = layer(
      "c = Cast(attn.mask) {to=9}\nm = Where(c, low, zero)\n"
      "views = Unsqueeze(m, axes)");
  REQUIRE(held.nodes.back().op == "Attention");
  CHECK(held.nodes.back().inputs.size() == 4);
}

TEST_CASE(
    "attention in pieces is one operator where a library is said to run it so, else counted") {
  const auto layer = [](const std::string& scores, bool joins) {
    Graph graph = test::inferred(
        "opset 17\ninput q: f32[B,2,8,16]\ninput k: f32[B,2,8,16]\n"
        "input v: f32[B,2,8,16]\nparam bias: f32[2,8,8]\nconst c: f32[] = [0.5]\n"
        "t = Transpose(k) {perm=[0,1,3,2]}\n" +
        scores + "\nw = Softmax(s) {axis=-1}\ny = MatMul(w, v)\noutput y\n");
    test::written_by(graph, "pytorch 2.9");
    const RecoverReport report = recover(graph, nullptr, joins);
    return std::tuple(std::move(graph), report.attention_in_pieces);
  };
  for (const char* scores : {"u = Mul(q, c)\ns = MatMul(u, t)", "p = MatMul(q, t)\ns = Mul(p, c)",
                             "p = MatMul(q, t)\ns = Div(p, c)", "s = MatMul(q, t)",
                             "u = Mul(q, c)\np = MatMul(u, t)\ns = Add(p, bias)",
                             "p = MatMul(q, t)\nu = Mul(p, c)\ns = Add(u, bias)"}) {
    CAPTURE(scores);
    const auto [left, pieces] = layer(scores, false);
    CHECK(op_names(left).back() == "MatMul");
    CHECK(pieces == 1);
    const auto [joined, none] = layer(scores, true);
    REQUIRE(op_names(joined) == Ops{"Attention"});
    CHECK(joined.nodes.back().inputs.size() ==
          (std::string(scores).find("bias") != std::string::npos ? 4 : 3));
    CHECK(none == 0);
  }
}

TEST_CASE("a mask of keys repeated for all heads is a copy, which the exporter's views hide") {
  const auto seen = [](const std::string& target) {
    return op_names(
        recovered("opset 20\ninput x: f32[B,1,1,24]\nconst grown: i64[4] = [1,4,1,1]\n"
                  "const target: i64[4] = " +
                  target + "\ne = Expand(x, grown)\ny = Reshape(e, target)\noutput y\n"));
  };
  CHECK(seen("[-1,4,1,24]") == Ops{"Expand", "Contiguous"});
  CHECK(seen("[-1,1,4,24]") == Ops{"Expand", "Reshape"});
}

namespace {

// Attention over S positions whose mask was made of them by `condition`; how many operands it has.
// The network's inputs are called as Hugging Face calls its own, or not.
size_t operands(const std::string& condition, int64_t positions, bool library = true,
                bool told = false) {
  auto graph = parse_text(
      std::string("opset 17\ninput ") + (library ? "input_ids" : "ids") +
      ": i64[1,S]\ninput q: f32[1,2,S,16]\ninput k: f32[1,2,16,S]\ninput v: f32[1,2,S,16]\n"
      "const s: f32[] = [0.5]\nconst zero: i64[] = [0]\nconst one: i64[] = [1]\n"
      "const two: i64[] = [2]\nconst width: i64[] = [32]\n"
      "const rows: i64[3] = [0,1,3]\nconst columns: i64[3] = [0,1,2]\n"
      "const low: f32[] = [-1000.0]\nconst none: f32[] = [0.0]\n"
      "all = Shape(q)\nend = Gather(all, two)\nat = Range(zero, end, one)\n"
      "query = Unsqueeze(at, rows)\nkey = Unsqueeze(at, columns)\n" +
      condition +
      "\nmask = Where(seen, none, low)\nqs = Mul(q, s)\nks = Mul(k, s)\n"
      "scores = MatMul(qs, ks)\nmasked = Add(scores, mask)\nw = Softmax(masked) {axis=-1}\n"
      "y = MatMul(w, v)\noutput y\n");
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  test::written_by(*graph, "pytorch 2.9");
  graph->told = told;
  const Binding binding{{"S", positions}};
  Decider decider(binding);
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  recover(*graph, &decider);
  REQUIRE(graph->nodes.back().op == "Attention");
  return graph->nodes.back().inputs.size();
}

}  // namespace

TEST_CASE("a mask that hides keys out of a window is data, once the sequence is as long") {
  const std::string causal = "seen = LessOrEqual(key, query)";
  const std::string behind = "first = Sub(query, width)\nseen = Greater(key, first)";
  const std::string around =
      "apart = Sub(query, key)\nfar = Abs(apart)\nseen = LessOrEqual(far, width)";
  CHECK(operands(causal, 64) == 3);
  CHECK(operands(behind, 64) == 4);
  CHECK(operands(behind, 31) == 3);
  CHECK(operands(around, 32) == 4);
  CHECK(operands(around, 31) == 3);
}

TEST_CASE("a mask that the network's own code makes is data; Hugging Face leaves its own out") {
  const std::string causal = "seen = LessOrEqual(key, query)";
  CHECK(operands(causal, 64) == 3);
  CHECK(operands(causal, 64, false) == 4);
  // What from_torch() exports has left out what it leaves out.
  CHECK(operands(causal, 64, true, true) == 4);
  // Whose lines made it says more than what inputs are called.
  const auto by = [](const std::string& file) {
    return "seen = LessOrEqual(key, query) calls=\"/\" statements=\"" + file + ":7 mask\"";
  };
  CHECK(operands(by("masking_utils.py"), 64, false) == 3);
  CHECK(operands(by("gpt.py"), 64, true) == 4);
  // What the exporter writes where a function is told to be causal is nobody's.
  CHECK(operands("val_9 = LessOrEqual(key, query)\nseen = Identity(val_9)", 64, false) == 4);
}

TEST_CASE("each attention makes its own numbers of one mask of true and false") {
  const Graph graph = recovered(
      "opset 17\ninput q: f32[B,2,8,16]\ninput k: f32[B,2,16,8]\ninput v: f32[B,2,8,16]\n"
      "const s: f32[] = [0.5]\nconst zero: f32[] = [0.0]\nconst low: f32[] = [-1000.0]\n"
      "const square: i64[2] = [8,8]\nones = ConstantOfShape(square)\n"
      "triangle = Trilu(ones)\nseen = Cast(triangle) {to=9}\n"
      "val_7 = Where(seen, zero, low)\nqs = Mul(q, s)\nks = Mul(k, s)\n"
      "a = MatMul(qs, ks)\nb = Add(a, val_7)\nc = Softmax(b) {axis=-1}\nx = MatMul(c, v)\n"
      "xs = Mul(x, s)\nd = MatMul(xs, ks)\ne = Add(d, val_7)\nf = Softmax(e) {axis=-1}\n"
      "y = MatMul(f, v)\noutput y\n");
  CHECK(std::ranges::count(op_names(graph), "Where") == 2);
}

TEST_CASE("keys and values of grouped heads that the exporter repeated are one per group") {
  const Graph graph = recovered(R"(opset 20
input q: f32[B,4,8,16]
input k: f32[B,2,8,16]
input v: f32[B,2,8,16]
const s: f32[] = [0.5]
const two: i64[1] = [2]
const grown: i64[5] = [1,2,2,8,16]
const joined: i64[4] = [-1,4,8,16]
ku = Unsqueeze(k, two)
val_1 = Expand(ku, grown)
kr = Reshape(val_1, joined)
vu = Unsqueeze(v, two)
val_2 = Expand(vu, grown)
vr = Reshape(val_2, joined)
kt = Transpose(kr) {perm=[0,1,3,2]}
qs = Mul(q, s)
ks = Mul(kt, s)
scores = MatMul(qs, ks)
w = Softmax(scores) {axis=-1}
y = MatMul(w, vr)
output y
)");
  REQUIRE(op_names(graph) == Ops{"Attention"});
  CHECK(graph.tensors[graph.nodes[0].inputs[1]].name == "k");
  CHECK(graph.tensors[graph.nodes[0].inputs[2]].name == "v");
}

TEST_CASE("keys repeated beside a causal mask that eager code leaves out are one per group") {
  const auto layer = [](const std::string& condition) {
    return recovered(R"(opset 20
input input_ids: i64[B,8]
input q: f32[B,4,8,16]
input k: f32[B,2,8,16]
input v: f32[B,4,8,16]
const s: f32[] = [0.5]
const zero: f32[] = [0.0]
const low: f32[] = [-1000.0]
const ten: i64[1] = [2]
const groups: i64[5] = [4,2,2,8,16]
const all: i64[4] = [4,4,8,16]
const extents: i64[4] = [1,1,8,8]
one = Unsqueeze(k, ten)
expand_2 = Expand(one, groups)
view_3 = Reshape(expand_2, all)
kt = Transpose(view_3) {perm=[0,1,3,2]}
ones = ConstantOfShape(extents)
triangle = Trilu(ones)
)" + condition + R"( = Greater(triangle, zero)
val_4 = Where()" + condition +
                     R"(, zero, low)
qs = Mul(q, s)
ks = Mul(kt, s)
scores = MatMul(qs, ks)
masked = Add(scores, val_4)
w = Softmax(masked) {axis=-1}
y = MatMul(w, v)
output y
)");
  };
  const Graph written = layer("expand_1");
  CHECK(written.nodes.back().op == "Attention");
  CHECK(written.nodes.back().inputs[1] == written.inputs[2]);
  const Graph by_exporter = layer("val_2");
  CHECK(by_exporter.nodes.back().inputs[1] != by_exporter.inputs[2]);
}

TEST_CASE("a constant fill is a bias of attention; a causal mask is not") {
  const auto layer = [](const std::string& mask) {
    return R"(opset 17
input input_ids: i64[B,8]
input q: f32[B,2,8,16]
input k: f32[B,2,16,8]
input v: f32[B,2,8,16]
const s: f32[] = [0.5]
const extents: i64[4] = [1,2,8,8]
qs = Mul(q, s)
ks = Mul(k, s)
scores = MatMul(qs, ks)
)" + mask + R"(
masked = Add(scores, mask)
w = Softmax(masked) {axis=-1}
y = MatMul(w, v)
output y
)";
  };
  const Graph filled = recovered(layer("mask = ConstantOfShape(extents)"));
  CHECK(filled.nodes.back().op == "Attention");
  CHECK(filled.nodes.back().inputs.size() == 4);
  const Graph causal =
      recovered(layer("ones = ConstantOfShape(extents)\nmask = Trilu(ones) {upper=1}"));
  CHECK(causal.nodes.back().op == "Attention");
  CHECK(causal.nodes.back().inputs.size() == 3);
  CHECK(causal.nodes.back().attributes.integer("causal", 0) == 1);
  // A mask that the network holds becomes numbers at every call; a folded one is not data.
  const auto hidden = [&](const std::string& mask) {
    return recovered(layer("param " + mask + ": bool[8,8]\nconst zero: f32[] = [0.0]\n" +
                           "const low: f32[] = [-1000.0]\nmask = Where(" + mask + ", zero, low)"));
  };
  CHECK(hidden("attn.mask").nodes.back().inputs.size() == 4);
  CHECK(hidden("val_7").nodes.back().inputs.size() == 3);
}

}  // namespace plimsoll
