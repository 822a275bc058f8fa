#include "graph/parallel/split_words.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/support/inferred_graph.h"

namespace plimsoll {
namespace {

// A table whose tokens something makes, and a head that shares it; `last` makes y of its scores.
Graph words(std::string_view last) {
  return test::inferred_graph(
      "opset 17\ninput ids: i64[2,6]\nparam words: f32[40,32]\nparam shift: f32[1,40]\n"
      "param cap: f32[1]\nparam all: f32[40,40]\nmade = Neg(ids)\nx = Gather(words, made)\n"
      "s = plimsoll:Linear(x, words)\n" +
      std::string(last) + "output y\n");
}

TensorId split_named(const Graph& graph, std::string_view name) {
  return static_cast<TensorId>(std::ranges::find(graph.tensors, name, &Tensor::name) -
                               graph.tensors.begin());
}

parallel::LayerParts split_of(const Graph& graph) { return parallel::split_words(graph, 2, {}); }

}  // namespace

TEST_CASE("split words: scores that are capped, scaled or shifted after the head stay parts") {
  const Graph graph = words("c = Mul(s, cap)\nt = Tanh(c)\ny = Add(t, shift)\n");
  const auto split = split_of(graph);
  for (const char* name : {"s", "c", "t", "y"})
    CHECK(split.values.at(split_named(graph, name)) == 2);
  CHECK(split.weights.at(split_named(graph, "words")) == Placement{Axis::kTensor, 0});
  CHECK(split.weights.at(split_named(graph, "shift")) == Placement{Axis::kTensor, 1});
  CHECK(!split.weights.contains(split_named(graph, "cap")));
  CHECK(split.begins.size() == 1);
}

TEST_CASE("split words: a table that the head shares is of words too, whoever makes its tokens") {
  const Graph graph = words("y = Tanh(s)\n");
  CHECK(split_of(graph).ends == std::set<NodeId>{graph.tensors[split_named(graph, "x")].producer});
}

TEST_CASE("split words: of what needs all scores the head is whole") {
  const Graph graph = words("y = Softmax(s)\n");
  CHECK(split_of(graph).begins.empty());
}

}  // namespace plimsoll
