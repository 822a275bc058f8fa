#include "graph/parallel/part.h"

#include <doctest/doctest.h>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"

namespace plimsoll {
namespace {

using parallel::Part;
using parallel::part_in_order;

const Dim kSamples = Dim::symbol("batch"), kRows = Dim::symbol("sequence");

// The first node's part after an input of which ranks have dimension `at`; nothing: it needs all.
std::optional<Part> after(std::string_view text, size_t at, int64_t ranks = 2) {
  auto graph = parse_text(text);
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  Decider decider({});
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  const Node& node = graph->nodes.front();
  return parallel::part_after(*graph, node, node.inputs[0], {.dimension = at}, ranks);
}

}  // namespace

TEST_CASE("part: features shown as heads, and heads as features") {
  const Shape features{kSamples, kRows, 32}, heads{kSamples, kRows, 4, 8};
  CHECK(part_in_order(features, heads, {.dimension = 2}, 2)->dimension == 2);
  CHECK(part_in_order(heads, features, {.dimension = 2}, 2)->dimension == 2);
  CHECK(part_in_order(features, {kSamples * kRows, 32}, {.dimension = 2}, 2)->dimension == 1);
}

TEST_CASE("part: of rows of all samples some heads of each, there and back") {
  const Shape heads{kSamples, kRows, 4, 8}, rows{kSamples * kRows * 4, 8};
  const auto in_rows = part_in_order(heads, rows, {.dimension = 2}, 2);
  REQUIRE(in_rows);
  CHECK(in_rows->dimension == 0);
  CHECK(in_rows->pieces == kSamples * kRows);
  CHECK(parallel::divides(rows, *in_rows, 4));
  CHECK(!parallel::divides(rows, *in_rows, 8));
  const auto back = part_in_order(rows, {kSamples, kRows, 32}, *in_rows, 2);
  REQUIRE(back);
  CHECK(back->dimension == 2);
  CHECK(back->pieces == Dim(1));
}

TEST_CASE("part: of query, key and value that a layer makes joined the heads") {
  const Shape joined{kRows, 3 * 4 * 8}, apart{kRows, 3, 4, 8};
  CHECK(part_in_order(joined, apart, {.dimension = 1}, 2)->dimension == 2);
  CHECK(!part_in_order(joined, {kRows, 3, 5, 7}, {.dimension = 1}, 2));
}

TEST_CASE("part: attention, gated delta rules and convolutions are of heads and channels alone") {
  constexpr std::string_view kAttention =
      "opset 17\ninput q: f32[2,4,6,8]\ninput k: f32[2,4,6,8]\ninput v: f32[2,4,6,8]\n"
      "y = plimsoll:Attention(q, k, v)\noutput y\n";
  CHECK(after(kAttention, 1)->dimension == 1);
  CHECK(!after(kAttention, 3));
  constexpr std::string_view kDelta =
      "opset 17\ninput q: f32[2,64,2,8]\ninput k: f32[2,64,2,8]\ninput v: f32[2,64,4,8]\n"
      "input g: f32[2,64,4]\ninput b: f32[2,64,4]\n"
      "y = plimsoll:GatedDeltaRule(q, k, v, g, b)\noutput y\n";
  CHECK(after(kDelta, 2)->dimension == 2);
  CHECK(!after(kDelta, 3));
  constexpr std::string_view kByChannels =
      "opset 17\ninput x: f32[2,8,6]\nparam w: f32[8,1,3]\ny = Conv(x, w) {group=8}\noutput y\n";
  CHECK(after(kByChannels, 1)->dimension == 1);
  CHECK(
      !after("opset 17\ninput x: f32[2,8,6]\nparam w: f32[8,8,3]\ny = Conv(x, w)\noutput y\n", 1));
}

}  // namespace plimsoll
