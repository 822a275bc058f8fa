#include "graph/train/checkpointed_blocks.h"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include "graph/ir/text.h"

namespace plimsoll {
namespace {

// Five blocks of two nodes behind a stem.
Graph network() {
  std::string text = "opset 17\ninput x: f32[4]\nv0 = Relu(x) module=\"stem\"\n";
  for (int i = 0; i < 5; ++i)
    text += fmt::format(
        "u{0} = Relu(v{0}) module=\"h.{0}.act\"\nv{1} = Tanh(u{0}) module=\"h.{0}.end\"\n", i,
        i + 1);
  auto graph = parse_text(text + "output v5\n");
  REQUIRE(graph);
  return std::move(*graph);
}

// The first nodes of what is checkpointed.
std::vector<NodeId> firsts(const std::string& which) {
  const auto blocks = checkpointed_blocks(network(), which);
  REQUIRE(blocks);
  std::vector<NodeId> nodes;
  for (const parallel::Unit& unit : blocks->units) nodes.push_back(unit.first);
  return nodes;
}

TEST_CASE("checkpointed blocks: all, every nth counted from one, those of a list, none") {
  CHECK(firsts("none").empty());
  CHECK(firsts("blocks") == std::vector<NodeId>{1, 3, 5, 7, 9});
  CHECK(firsts("blocks/2") == std::vector<NodeId>{3, 7});
  CHECK(firsts("blocks/3") == std::vector<NodeId>{5});
  CHECK(firsts("h.0,h.3") == std::vector<NodeId>{1, 7});
  CHECK(firsts("operators") == firsts("blocks"));
}

TEST_CASE("checkpointed blocks: only operators' results are kept beside what a block reads") {
  for (const char* which : {"none", "blocks", "blocks/2", "h.0", "operators"})
    CHECK(checkpointed_blocks(network(), which)->by_operator ==
          (std::string(which) == "operators"));
}

TEST_CASE("checkpointed blocks: what the graph does not have is refused in its own terms") {
  const auto message = [](const Graph& graph, const char* which) {
    const auto blocks = checkpointed_blocks(graph, which);
    REQUIRE(!blocks);
    CHECK(blocks.error().front().code == "E261");
    return blocks.error().front().message;
  };
  const std::string none = "the file names no repeated modules to checkpoint";
  CHECK(message(network(), "blocks/6") == none);
  CHECK(message(Graph{}, "blocks") == none);
  CHECK(message(Graph{}, "operators") == none);
  CHECK(message(network(), "h.7") == "no module is called 'h.7'");
  CHECK(message(network(), "blocks/0") == "no module is called 'blocks/0'");
  CHECK(message(network(), "blocks/-1") == "no module is called 'blocks/-1'");
}

}  // namespace
}  // namespace plimsoll
