#include "graph/rewrite/assume_dropout.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/recovered.h"

namespace plimsoll {
namespace {

using test::recovered;

// What a node's dropouts read.
std::vector<std::string> dropped(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) {
    if (node.op == "Dropout") names.push_back(graph.tensors[node.inputs[0]].name);
  }
  return names;
}

// A residual MLP after an embedding. `first` and `last` are its layers' names.
std::string block(const std::string& first, const std::string& last) {
  return R"(opset 17
input tokens: i64[B,8]
param table: f32[100,16]
param w1: f32[16,64]
param w2: f32[64,16]
embedded = Gather(table, tokens) {axis=0}
up = MatMul(embedded, w1) module="block.)" +
         first + R"("
act = Relu(up)
down = MatMul(act, w2) module="block.)" +
         last + R"("
y = Add(embedded, down)
output y
)";
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("assumed dropout: at the end of residual branches and after embeddings") {
  Graph graph = recovered(block("dense", "output.dense"));
  const AssumedDropout assumed = assume_dropout(graph, 0.1);
  CHECK(assumed.branches == 1);
  CHECK(assumed.embeddings == 1);
  CHECK(assumed.inner == 0);
  CHECK(dropped(graph) == Names{"embedded", "down"});
  CHECK(describe(assumed) == "1 residual branch, 1 embedding");
  // All who read what was dropped read it through the dropout.
  for (const Node& node : graph.nodes) {
    if (node.op != "Add" && node.op != "Linear") continue;
    for (const TensorId in : node.inputs) {
      const std::string& name = graph.tensors[in].name;
      CHECK(name != "embedded");
      CHECK(name != "down");
    }
  }
}

TEST_CASE("assumed dropout: names tell whether an MLP drops between its layers") {
  Graph inside = recovered(block("linear1", "linear2"));
  CHECK(assume_dropout(inside, 0.1).inner == 1);
  CHECK(dropped(inside) == Names{"embedded", "act", "down"});
  Graph without = recovered(block("lin1", "out_lin"));
  CHECK(assume_dropout(without, 0.1).branches == 0);
}

TEST_CASE("assumed dropout: a classifier's last layers") {
  Graph graph = recovered(R"(opset 17
input x: f32[B,32]
param w1: f32[64,32]
param w2: f32[64,64]
param w3: f32[10,64]
a = Gemm(x, w1) {transB=1}
b = Relu(a)
c = Gemm(b, w2) {transB=1}
d = Relu(c)
y = Gemm(d, w3) {transB=1}
output y
)");
  CHECK(assume_dropout(graph, 0.5).heads == 2);
  CHECK(dropped(graph) == Names{"b", "d"});
}

TEST_CASE("assumed dropout: a graph that writes dropout keeps its own") {
  Graph graph = recovered(R"(opset 17
input x: f32[B,32]
param w: f32[10,32]
a = Dropout(x)
y = Gemm(a, w) {transB=1}
output y
)");
  const AssumedDropout assumed = assume_dropout(graph, 0.5);
  CHECK(assumed.has_own);
  CHECK(assumed.total() == 0);
  CHECK(dropped(graph) == Names{"x"});
}

}  // namespace plimsoll
