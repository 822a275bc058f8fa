#include "graph/rewrite/widen_softmax.h"

#include <doctest/doctest.h>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "graph/rewrite/cast.h"
#include "tests/support/written_by.h"

using namespace plimsoll;

// Of the values that nodes make in a model that is cast to bf16: "h" for bf16, "s" for fp32.
static std::string halves(const std::string& nodes) {
  auto graph = parse_text("opset 17\ninput x: f32[2,8]\nparam w: f32[8,8]\na = MatMul(x, w)\n" +
                          nodes + "z = MatMul(y, w)\noutput z\n");
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  test::written_by(*graph, "pytorch 2.9");
  const Binding nothing;
  Decider decider(nothing);
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  widen_softmax(*graph);
  cast(*graph, DType::kBFloat16);
  std::string found;
  for (const Node& node : graph->nodes)
    found += graph->tensors[node.outputs[0]].dtype == DType::kFloat32 ? 's' : 'h';
  return found;
}

TEST_CASE("widen_softmax: a softmax that is cast and cast back computes in fp32") {
  // product; cast, softmax; casts back; product
  CHECK(halves("s = Softmax(a)\nt = Cast(s) {to=1}\ny = Cast(t) {to=1}\n") == "hsshhh");
  CHECK(halves("s = Softmax(a)\ny = Cast(s) {to=1}\n") == "hhhh");  // .to(query.dtype) alone
  CHECK(halves("s = Relu(a)\nt = Cast(s) {to=1}\ny = Cast(t) {to=1}\n").starts_with("hh"));
}
