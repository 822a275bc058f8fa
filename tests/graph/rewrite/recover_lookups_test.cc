// Embeddings at known places, which an exporter looked up.
#include <doctest/doctest.h>

#include "graph/exporter/weight_roles.h"
#include "tests/support/recovered.h"

namespace plimsoll {

using test::op_names;
using test::Ops;
using test::recovered;

namespace {

Graph placed(const std::string& name, const std::string& extents) {
  return recovered("opset 20\ninput x: f32[B,6,8]\nparam " + name + ": f32" + extents +
                   "\ny = Add(x, " + name + ")\noutput y\n");
}

WeightRole kind(const Graph& graph, size_t input) {
  return classify_parameters(graph)[graph.nodes[0].inputs[input]];
}

}  // namespace

TEST_CASE("rows that an exporter looked up are a trained table and its places") {
  const Graph counted = placed("embedding_1", "[6,8]");
  REQUIRE(op_names(counted) == Ops{"Gather", "Add"});
  const Tensor& table = counted.tensors[counted.nodes[0].inputs[0]];
  CHECK(*table.shape == Shape{6, 8});
  CHECK(kind(counted, 0) == WeightRole::kTrained);
  CHECK(kind(counted, 1) == WeightRole::kComputed);
  // For all samples: places that a module holds.
  const Graph held = placed("embedding", "[1,6,8]");
  REQUIRE(op_names(held) == Ops{"Gather", "Add"});
  CHECK(*held.tensors[held.nodes[0].inputs[1]].shape == Shape{1, 6});
  CHECK(kind(held, 1) == WeightRole::kConstant);
}

TEST_CASE("rows of distances that queries are multiplied with are looked up in a table of all") {
  const auto relative = [](const std::string& name, const std::string& last) {
    return recovered("opset 20\ninput q: f32[B,4,4,8]\nparam " + name + ": f32[4,2,8]\n" + last +
                     "\noutput y\n");
  };
  const std::string product = "y = Einsum(q, index_1) {equation=\"bhwc,hkc->bhwk\"}";
  const Graph graph = relative("index_1", product);
  REQUIRE(op_names(graph) == Ops{"Gather", "Einsum"});
  CHECK(*graph.tensors[graph.nodes[0].inputs[0]].shape == Shape{7, 8});
  CHECK(*graph.tensors[graph.nodes[0].inputs[1]].shape == Shape{4, 2});
  CHECK(kind(graph, 0) == WeightRole::kTrained);
  CHECK(op_names(relative("index_1", "s = ReduceSum(index_1)\ny = Mul(q, s)")) ==
        Ops{"ReduceSum", "Mul"});
}

TEST_CASE("a table that somebody named is not looked up") {
  CHECK(op_names(placed("position_embedding", "[6,8]")) == Ops{"Add"});
  CHECK(op_names(placed("h.embedding_1", "[6,8]")) == Ops{"Add"});
}

}  // namespace plimsoll
