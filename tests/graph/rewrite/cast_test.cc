#include "graph/rewrite/cast.h"

#include <doctest/doctest.h>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"

using namespace plimsoll;

namespace {

// Types of the named values once a model of these nodes has been cast to bf16.
std::vector<DType> types(const std::string& nodes, std::initializer_list<std::string_view> names,
                         const std::string& weight = "f32") {
  auto graph =
      parse_text("opset 17\ninput x: " + weight + "[2,8]\nparam w: " + weight + "[8,8]\n" + nodes);
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  const Binding nothing;
  Decider decider(nothing);
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  cast(*graph, DType::kBFloat16);
  std::vector<DType> found;
  for (const std::string_view name : names) {
    for (const Tensor& t : graph->tensors) {
      if (t.name == name) found.push_back(t.dtype);
    }
  }
  return found;
}

constexpr DType kSingle = DType::kFloat32, kHalf = DType::kBFloat16;

}  // namespace

TEST_CASE("cast: single precision alone changes its type") {
  Graph graph;
  const auto add = [&](TensorKind kind, DType dtype) {
    Tensor t;
    t.kind = kind;
    t.dtype = dtype;
    t.shape = Shape{Dim(2)};
    graph.add_tensor(std::move(t));
  };
  add(TensorKind::kInput, DType::kFloat32);
  add(TensorKind::kInput, DType::kInt64);
  add(TensorKind::kParameter, DType::kFloat32);
  cast(graph, DType::kFloat64);
  CHECK(graph.tensors[0].dtype == DType::kFloat64);
  CHECK(graph.tensors[1].dtype == DType::kInt64);
  CHECK(graph.tensors[2].dtype == DType::kFloat64);
  CHECK(graph.tensors[0].shape == Shape{Dim(2)});
}

TEST_CASE("cast: what a file widens stays so until the cast that goes back") {
  const std::string softmax =
      "a = MatMul(x, w)\nb = Cast(a) {to=1}\nc = Softmax(b)\nd = Cast(c) {to=1}\n"
      "e = MatMul(d, w)\noutput e\n";
  CHECK(types(softmax, {"a", "b", "c", "d", "e"}) ==
        std::vector{kHalf, kSingle, kSingle, kHalf, kHalf});
  // Logits are widened for good.
  CHECK(types("a = MatMul(x, w)\nb = Cast(a) {to=1}\noutput b\n", {"a", "b"}) ==
        std::vector{kHalf, kSingle});
}

TEST_CASE("cast: x.to(x.dtype), written as a cast, does nothing where types may not mix") {
  const std::string same =
      "a = Softmax(x)\nb = Cast(a) {to=1}\nc = Mul(b, b)\n"
      "d = MatMul(c, w)\noutput d\n";
  CHECK(types(same, {"a", "b", "c", "d"}) == std::vector{kHalf, kHalf, kHalf, kHalf});
  // Both operands widened: angles of rotary positions.
  const std::string angles =
      "a = Cast(x) {to=1}\nb = Cast(w) {to=1}\nc = MatMul(a, b)\n"
      "d = Cos(c)\ne = Cast(d) {to=1}\nf = Mul(e, x)\noutput f\n";
  CHECK(types(angles, {"c", "d", "e", "f"}) == std::vector{kSingle, kSingle, kHalf, kHalf});
}

TEST_CASE("cast: nothing is undone in a file that is in 16 bits itself") {
  const std::string nodes =
      "a = Cast(x) {to=1}\nb = Mul(a, a)\nc = Cast(b) {to=16}\n"
      "d = MatMul(c, w)\noutput d\n";
  CHECK(types(nodes, {"a", "b", "c", "d"}, "bf16") == std::vector{kSingle, kSingle, kHalf, kHalf});
}

TEST_CASE("cast: in mixed precision too, a cast whose result meets weights names the type it has") {
  const auto ops = [](const std::string& nodes) {
    auto graph = parse_text("opset 17\ninput x: f32[2,8]\nparam w: f32[8,8]\n" + nodes);
    REQUIRE_MESSAGE(graph, graph.error().front().message);
    const Binding nothing;
    Decider decider(nothing);
    Diagnostics warnings;
    REQUIRE(infer(*graph, decider, warnings));
    const size_t dropped = drop_given_casts(*graph);
    std::string all = std::to_string(dropped);
    for (const Node& node : graph->nodes) all += " " + node.op;
    return all;
  };
  CHECK(ops("a = Relu(x)\nb = Cast(a) {to=1}\nc = MatMul(b, w)\noutput c\n") ==
        "1 Relu Identity MatMul");
  CHECK(ops("a = MatMul(x, w)\nb = Cast(a) {to=1}\nc = Softmax(b)\nd = Cast(c) {to=1}\n"
            "e = MatMul(d, w)\noutput e\n") == "0 MatMul Cast Softmax Cast MatMul");
}
