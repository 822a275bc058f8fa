#include "graph/parallel/attention_reads.h"

#include <doctest/doctest.h>

#include "tests/support/inferred_graph.h"

namespace plimsoll {

TEST_CASE("attention reads: queries, keys and values, or what its products multiply") {
  const Graph attention = test::inferred_graph(
      "opset 17\ninput q: f32[2,4,6,8]\ninput k: f32[2,4,6,8]\ninput v: f32[2,4,6,8]\n"
      "input m: f32[6,6]\ny = plimsoll:Attention(q, k, v, m)\noutput y\n");
  CHECK(parallel::attended(attention, 0).size() == 3);
  const Graph product = test::inferred_graph(
      "opset 17\ninput q: f32[2,4,6,8]\ninput k: f32[2,4,8,6]\ns = MatMul(q, k)\n"
      "y = Softmax(s)\noutput y\n");
  CHECK(parallel::attended(product, 0).size() == 2);
  CHECK(parallel::attended(product, 1).empty());
  const Graph layer = test::inferred_graph(
      "opset 17\ninput x: f32[2,6,8]\nparam w: f32[8,8]\ny = MatMul(x, w)\noutput y\n");
  CHECK(parallel::attended(layer, 0).empty());
}

TEST_CASE("attention reads: a norm over all heads follows a layer, or one of each head") {
  const auto normed = [](std::string_view behind) {
    const Graph graph = test::inferred_graph(
        "opset 17\ninput x: f32[2,6,32]\nparam w: f32[32,32]\nparam g: f32[32]\n"
        "param h: f32[8]\nconst heads: i64[4] = [0, 0, 4, 8]\nq = MatMul(x, w)\n" +
        std::string(behind) + "\noutput y\n");
    return parallel::is_normed_whole(graph, Consumers(graph), 0);
  };
  CHECK(normed("n = LayerNormalization(q, g)\ny = Reshape(n, heads)"));
  CHECK(!normed("n = Reshape(q, heads)\ny = LayerNormalization(n, h)"));
  CHECK(!normed("n = LayerNormalization(q, g)\ny = MatMul(n, w)"));
}

TEST_CASE("attention reads: numbers of positions are those that no sample enters") {
  const Graph graph = test::inferred_graph(
      "opset 17\ninput x: f32[6,4]\nparam table: f32[9,4]\nparam scale: f32[4]\n"
      "const places: i64[6] = [0, 1, 2, 3, 4, 5]\nconst sizes: i64[1] = [4]\n"
      "rows = Gather(table, places)\nslopes = ConstantOfShape(sizes)\nboth = Mul(rows, slopes)\n"
      "scaled = Mul(rows, scale)\nsum = Add(both, x)\ny = Add(sum, scaled)\noutput y\n");
  const auto made = [&](NodeId id) { return graph.nodes[id].outputs[0]; };
  CHECK(parallel::is_rows_of_table(graph, graph.nodes[0]));
  for (const NodeId id : {0, 1, 2}) CHECK(parallel::is_of_positions(graph, made(id)));
  CHECK(!parallel::is_of_positions(graph, made(3)));  // a weight that is no table
  CHECK(!parallel::is_of_positions(graph, made(4)));
}

}  // namespace plimsoll
