#include "graph/parallel/expert_layer.h"

#include <doctest/doctest.h>

#include "graph/parallel/layer_matrix.h"
#include "graph/parallel/tensor_split.h"
#include "tests/support/inferred_graph.h"

namespace plimsoll {
namespace {

// Four experts of a gated MLP, and a layer that all rows run through, which reads the same.
constexpr std::string_view kMixture =
    "opset 17\ninput x: f32[6,16]\ninput ends: i32[4]\nparam gate_up: f32[4,64,16]\n"
    "param down: f32[4,16,32]\nparam router: f32[4,16]\nparam up: f32[32,16]\n"
    "param back: f32[16,32]\nconst halves: i64[2] = [32, 32]\n"
    "r = plimsoll:Linear(x, router) module=\"h.0.gate\"\n"
    "p = Softmax(r) module=\"h.0.gate\"\n"
    "s = Relu(x) module=\"h.0.experts\"\n"
    "b = plimsoll:GroupedLinear(s, gate_up, ends) module=\"h.0.experts\"\n"
    "g, u = Split(b, halves) {axis=-1} module=\"h.0.experts\"\n"
    "m = Mul(g, u) module=\"h.0.experts\"\n"
    "d = plimsoll:GroupedLinear(m, down, ends) module=\"h.0.experts\"\n"
    "w = Relu(d) module=\"h.0.experts\"\n"
    "a = plimsoll:Linear(x, up) module=\"h.0.shared.up\"\n"
    "c = plimsoll:Linear(a, back) module=\"h.0.shared.back\"\n"
    "y = Add(w, c) module=\"h.0\"\noutput y\noutput p\n";

Graph mixture() { return test::inferred_graph(kMixture); }

TensorId named(const Graph& graph, std::string_view name) {
  return static_cast<TensorId>(std::ranges::find(graph.tensors, name, &Tensor::name) -
                               graph.tensors.begin());
}

}  // namespace

TEST_CASE("expert layer: two products in a module, what it is given and what it returns") {
  const Graph graph = mixture();
  const auto layers =
      parallel::expert_layers(graph, {.first = 0, .last = static_cast<NodeId>(graph.nodes.size())});
  REQUIRE(layers.size() == 1);
  CHECK(graph.nodes[layers[0].last].outputs[0] == named(graph, "w"));
  REQUIRE(layers[0].reads.size() == 1);
  CHECK(graph.nodes[*layers[0].reads.begin()].outputs[0] == named(graph, "s"));
  const auto matrix = parallel::stacked_matrix(graph, layers[0].first_product);
  CHECK(matrix.id == named(graph, "gate_up"));
  CHECK(matrix.outputs == 1);
  CHECK(matrix.inputs == 2);
}

TEST_CASE("expert layer: ranks have some of each expert's features, and routers whole") {
  const Graph graph = mixture();
  const auto split = parallel::split_tensors(graph, 2, false);
  const auto dimension = [&](std::string_view name) {
    const auto at = split.weights.find(named(graph, name));
    return at == split.weights.end() ? -1 : static_cast<int>(at->second.dimension);
  };
  CHECK(dimension("gate_up") == 1);
  CHECK(dimension("down") == 2);
  CHECK(dimension("router") == -1);
  CHECK(dimension("up") == 0);
  CHECK(dimension("back") == 1);
  CHECK(split.experts == 1);
  CHECK(split.whole_experts == 0);
  CHECK(split.ends.contains(graph.tensors[named(graph, "w")].producer));
  CHECK(parallel::split_tensors(graph, 64, false).whole_experts == 1);
}

}  // namespace plimsoll
