#include "graph/rewrite/editor.h"

#include <doctest/doctest.h>

#include <string>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"

namespace plimsoll {
namespace {

Graph two_readers() {
  auto graph = parse_text(R"(opset 17
input x: f32[4]
a = Exp(x)
b = Relu(a)
c = Tanh(a)
output b
output c
)");
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  Decider decider({});
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  return std::move(*graph);
}

Node copy_of(TensorId value) {
  return {.op = "Identity",
          .domain = "",
          .name = "copy",
          .module = "",
          .attributes = {},
          .inputs = {value},
          .outputs = {}};
}

std::string listing(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) text += (text.empty() ? "" : " ") + node.op;
  return text;
}

}  // namespace

TEST_CASE("rewrite: what is inserted before an inserted node runs before it") {
  Graph graph = two_readers();
  Rewrite r(graph);
  const TensorId a = graph.nodes[0].outputs[0];
  Node square = copy_of(a);
  square.op = "Neg";
  const TensorId negated = r.insert_before(1, std::move(square), DType::kFloat32, Shape{Dim(4)});
  r.read_instead(1, a, negated);
  // Its readers are the inserted node and the last one of the file; the inserted one runs first.
  const NodeId first = r.first_reader(a);
  CHECK(r.node(first).op == "Neg");
  const TensorId copy = r.insert_before(first, copy_of(a), DType::kFloat32, Shape{Dim(4)});
  r.read_instead(first, a, copy);
  r.read_instead(2, a, copy);
  r.finish();
  CHECK(listing(graph) == "Exp Identity Neg Relu Tanh");
  for (const Node& node : graph.nodes) {
    for (const TensorId in : node.inputs) {
      const NodeId maker = graph.tensors[in].producer;
      CHECK((maker == kNoNode || &graph.nodes[maker] < &node));
    }
  }
}

TEST_CASE("rewrite: nodes inserted before the same one keep their order") {
  Graph graph = two_readers();
  Rewrite r(graph);
  const TensorId a = graph.nodes[0].outputs[0];
  for (const char* op : {"Neg", "Abs"}) {
    Node node = copy_of(a);
    node.op = op;
    const TensorId out = r.insert_before(2, std::move(node), DType::kFloat32, Shape{Dim(4)});
    CHECK(r.first_reader(out) == kNoNode);
  }
  CHECK(r.node(r.first_reader(a)).op == "Relu");
  r.finish();
  CHECK(listing(graph) == "Exp Relu Neg Abs Tanh");
}

TEST_CASE(
    "rewrite: what runs right after a value's maker runs before its readers, inserted ones too") {
  for (const bool inserted : {false, true}) {
    Graph graph = two_readers();
    Rewrite r(graph);
    const TensorId a = graph.nodes[0].outputs[0];
    if (inserted) {
      Node node = copy_of(a);
      node.op = "Neg";
      r.insert_before(1, std::move(node), DType::kFloat32, Shape{Dim(4)});
    }
    const std::vector<NodeId> readers = r.readers(a);
    const TensorId copy =
        r.insert_before(r.right_after(a), copy_of(a), DType::kFloat32, Shape{Dim(4)});
    for (const NodeId reader : readers) r.read_instead(reader, a, copy);
    r.finish();
    CHECK(listing(graph) == (inserted ? "Exp Identity Neg Relu Tanh" : "Exp Identity Relu Tanh"));
  }
}

// Else it would seem to end the call that runs around it, and what that call made to outlive it.
TEST_CASE("rewrite: a copy runs in the calls of the node that it is made for") {
  auto graph = parse_text(
      "opset 20\ninput x: f32[4]\na = Relu(x) name=\"/one/act/Relu\" module=\"one.act\"\n"
      "b = Exp(a) name=\"/two/fc/Exp\" module=\"two.fc\" calls=\"/two/two.fc\" "
      "statements=\"a.py:3 y\"\noutput b\n");
  REQUIRE(graph);
  Rewrite r(*graph);
  const Node& copy = r.node(r.copy_before(1, 0));
  CHECK(copy.name == "/two/fc/Relu");
  CHECK(copy.module == "two.fc");
  CHECK(copy.notes.calls == "/two/two.fc");
  CHECK(copy.notes.statements == "a.py:3 y");
}

}  // namespace plimsoll
