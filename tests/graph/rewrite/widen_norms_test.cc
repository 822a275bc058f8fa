#include "graph/rewrite/widen_norms.h"

#include <doctest/doctest.h>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "graph/rewrite/cast.h"
#include "tests/support/written_by.h"

using namespace plimsoll;

namespace {

struct Widened {
  size_t norms = 0;
  std::string halves;  // of the values that nodes make, "h" for bf16 and "s" for fp32
};

// A norm whose last line is `scale`, in a model that is cast to bf16. It squares `squared`.
Widened widened(const std::string& scale, const std::string& calls = " calls=\"/norm\"",
                const std::string& producer = "pytorch 2.9", const std::string& squared = "h",
                const std::string& square_line = "") {
  const std::string widening = squared == "h" ? "" : squared + " = Cast(h) {to=1}\n";
  auto graph = parse_text(
      "opset 20\ninput x: f32[2,8]\nparam norm.weight: f32[8]\nparam add_7: f32[8]\n"
      "param w: f32[8,8]\nconst two: f32[] = [2]\nconst eps: f32[] = [0.001]\n"
      "const last: i64[1] = [-1]\nh = MatMul(x, w)\n" +
      widening + "p = Pow(" + squared + ", two)" + square_line +
      "\nm = ReduceMean(p, last)\ne = Add(m, eps)\n"
      "s = Sqrt(e)\nr = Reciprocal(s)\nn = Mul(" +
      squared + ", r)" + calls + "\n" + scale + "\ny = MatMul(o, w)\noutput y\n");
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  test::written_by(*graph, producer);
  const Binding nothing;
  Decider decider(nothing);
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  Widened found{.norms = widen_norms(*graph), .halves = {}};
  cast(*graph, DType::kBFloat16);
  for (const Node& node : graph->nodes)
    found.halves += graph->tensors[node.outputs[0]].dtype == DType::kFloat32 ? 's' : 'h';
  return found;
}

}  // namespace

TEST_CASE("widen_norms: a norm computes in fp32 and goes back before it is scaled") {
  const Widened one = widened("o = Mul(norm.weight, n)");
  CHECK(one.norms == 1);
  // matmul; cast to norm; cast, scale, matmul
  CHECK(one.halves == "hssssssshhh");
}

TEST_CASE("widen_norms: a gain beside one scales in fp32 too") {
  const Widened one = widened("o = Mul(n, add_7)");
  CHECK(one.norms == 1);
  // matmul; cast to scale; cast, matmul
  CHECK(one.halves == "hsssssssshh");
}

TEST_CASE("widen_norms: a norm with a cast in front alone goes back before it is scaled") {
  const auto one = [](const std::string& scale) { return widened(scale, "", "pytorch 2.9", "c"); };
  CHECK(one("o = Mul(norm.weight, n)").norms == 1);
  CHECK(one("o = Mul(norm.weight, n)").halves == "hssssssshhh");
  CHECK(one("b = Cast(n) {to=1}\no = Mul(norm.weight, b)").norms == 0);
  CHECK(one("b = Mul(norm.weight, n)\no = Cast(b) {to=1}").norms == 0);
}

// modeling_gemma.py by the older exporter, which leaves out output.type_as(x).
TEST_CASE("widen_norms: a norm with a cast in front whose gain is cast goes back behind it") {
  const auto one = [](const std::string& scale) { return widened(scale, "", "pytorch 2.9", "c"); };
  const std::string gain =
      "const one: f32[] = [1]\nf = Cast(norm.weight) {to=1}\ng = Add(f, one)\n";
  CHECK(one(gain + "o = Mul(n, g)").norms == 1);
  // matmul; cast to norm; cast, sum, scale; cast, matmul
  CHECK(one(gain + "o = Mul(n, g)").halves == "hsssssssssshh");
  CHECK(one(gain + "b = Mul(n, g)\no = Cast(b) {to=1}").norms == 0);
  // A residual that seems to read the cast reads what is cast.
  CHECK(one(gain + "b = Mul(n, g)\no = Add(b, c)").halves == "hsssssssssshhh");
}

TEST_CASE("widen_norms: what says that it has all its casts, or scales in its own type, stays") {
  const std::string scale = "o = Mul(norm.weight, n)";
  CHECK(widened(scale, "").norms == 0);  // the older exporter names no calls
  CHECK(widened(scale, " calls=\"/norm\"", "tf2onnx 1.16").norms == 0);
  CHECK(widened(scale, " calls=\"/norm\" fused_norm").norms == 0);
  CHECK(widened("o = Mul(n, norm.weight)").norms == 0);  // timm's
}

// modeling_olmo2.py, modeling_cohere.py
TEST_CASE("widen_norms: a line that casts what it has scaled scales in fp32") {
  const Widened result = widened("o = Mul(norm.weight, n) casts=\"()>given\"");
  CHECK(result.norms == 1);
  // matmul; cast to scale; cast, matmul
  CHECK(result.halves == "hsssssssshh");
  // ... and its weight's cast
  CHECK(widened("o = Mul(norm.weight, n) casts=\"self.weight>float\"").halves == "hssssssssshh");
  // output * (1.0 + self.weight.float()), whose sum was folded: the gain stays where it scales.
  CHECK(widened("o = Mul(n, add_7) casts=\"self.weight>float\"").halves == "hsssssssshh");
  // Near miss: the norm alone is cast, as usual.
  CHECK(widened("o = Mul(norm.weight, n) casts=\"x>given\"").halves == "hssssssshhh");
}

// modeling_t5.py: the norm multiplies x as it is.
TEST_CASE("widen_norms: a line that widens what it squares widens no more") {
  const auto wide_readers = [](const std::string& square_line, const std::string& norm_line = "") {
    auto graph = parse_text(
        "opset 20\ninput x: f32[2,8]\nparam norm.weight: f32[8]\nconst two: f32[] = [2]\n"
        "const eps: f32[] = [0.001]\nconst last: i64[1] = [-1]\nh = Relu(x)\np = Pow(h, two)" +
        square_line +
        "\nm = ReduceMean(p, last)\ne = Add(m, eps)\ns = Sqrt(e)\nr = Reciprocal(s)\n"
        "n = Mul(h, r) calls=\"/norm\"" +
        norm_line + "\no = Mul(norm.weight, n)\noutput o\n");
    REQUIRE_MESSAGE(graph, graph.error().front().message);
    test::written_by(*graph, "pytorch 2.9");
    const Binding nothing;
    Decider decider(nothing);
    Diagnostics warnings;
    REQUIRE(infer(*graph, decider, warnings));
    CHECK(widen_norms(*graph) == 1);
    return Consumers(*graph)[graph->nodes[1].outputs[0]].size();
  };
  CHECK(wide_readers("") == 2);
  CHECK(wide_readers(" casts=\"h>float\"") == 1);
  CHECK(wide_readers(" casts=\"()>given\"") == 2);
  // modeling_gemma3.py: self._norm(x.float()), which is all of the norm
  CHECK(wide_readers(" casts=\"x>float\"", " casts=\"x>float\"") == 2);
}

// Cohere's layer norm: the difference is one of single precision.
TEST_CASE("widen_norms: what is centred first is cast before its mean is taken") {
  const auto first_cast = [](const std::string& mean_of) {
    auto graph = parse_text(
        "opset 20\ninput x: f32[2,8]\nparam norm.weight: f32[8]\nconst two: f32[] = [2]\n"
        "const eps: f32[] = [0.001]\nconst last: i64[1] = [-1]\nh = Relu(x)\ng = Tanh(x)\n"
        "u = ReduceMean(" +
        mean_of +
        ", last)\nd = Sub(h, u)\np = Pow(d, two)\nm = ReduceMean(p, last)\ne = Add(m, eps)\n"
        "s = Sqrt(e)\nr = Reciprocal(s)\nn = Mul(d, r) calls=\"/norm\"\n"
        "o = Mul(norm.weight, n)\noutput o\n");
    REQUIRE_MESSAGE(graph, graph.error().front().message);
    test::written_by(*graph, "pytorch 2.9");
    const Binding nothing;
    Decider decider(nothing);
    Diagnostics warnings;
    REQUIRE(infer(*graph, decider, warnings));
    CHECK(widen_norms(*graph) == 1);
    for (const Node& node : graph->nodes) {
      if (node.op == "Cast") return graph->tensors[node.inputs[0]].name;
    }
    return std::string();
  };
  CHECK(first_cast("h") == "h");
  CHECK(first_cast("g") == "d");  // another value's mean: no centring
}
