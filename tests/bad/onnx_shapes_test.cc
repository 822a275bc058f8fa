// Models that are sound as files and impossible as mathematics: from bytes to a named error.
#include <doctest/doctest.h>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "graph/train/expand.h"
#include "tests/support/import_support.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

struct BadShape {
  std::string_view row;
  GraphParts parts;
  std::string_view code;
};

GraphParts parts_of(const std::vector<Proto>& nodes, const std::vector<Proto>& initializers = {}) {
  return {nodes, initializers, {value("x", {"batch", 3, 8, 8})}, {untyped("y")}};
}

GraphParts conv(const Proto& attribute, const std::vector<int64_t>& filter = {4, 3, 3, 3}) {
  return parts_of({node("Conv", {"x", "w"}, {"y"}, {attribute}, "conv")}, {tensor("w", 1, filter)});
}

using Ints = std::vector<int64_t>;

}  // namespace

TEST_CASE("A29 to A43: impossible nodes are errors that name the node") {
  const std::vector<BadShape> bad = {
      {"A29", parts_of({node("FlashThing", {"x"}, {"y"}, {}, "f", "com.acme")}), "E210"},
      {"A34",
       {{node("Expand", {"x", "s"}, {"y"})},
        {integers("s", {5}, {int64_t{1} << 40, int64_t{1} << 40, 1, 8, 8})},
        {value("x", {1, 3, 8, 8})},
        {untyped("y")}},
       "E2"},
      {"A40 stride", conv(attribute("strides", Ints{0, 0})), "E24"},
      {"A40 dilation", conv(attribute("dilations", Ints{0, 0})), "E24"},
      {"A40 pads", conv(attribute("pads", Ints{-9, -9, -9, -9})), "E24"},
      {"A40 group", conv(attribute("group", 0)), "E24"},
      {"A40 group does not divide", conv(attribute("group", 2)), "E24"},
      {"A40 large kernel", conv(attribute("dilations", Ints{40, 40})), "E24"},
      {"A41", conv(Proto().text(1, "strides").text(4, "two").number(20, 3)), "E24"},
      {"A43 twice", parts_of({node("Reshape", {"x", "s"}, {"y"})}, {integers("s", {2}, {-1, -1})}),
       "E250"},
      {"A43 not divisible",
       parts_of({node("Reshape", {"x", "s"}, {"y"})}, {integers("s", {2}, {-1, 7})}), "E250"},
      {"bias of no channels",
       parts_of({node("Conv", {"x", "w", "b"}, {"y"})},
                {tensor("w", 1, {4, 3, 3, 3}), tensor("b", 1, {})}),
       "E253"},
      {"broadcast", parts_of({node("Add", {"x", "w"}, {"y"})}, {tensor("w", 1, {5})}), "E251"},
  };
  for (const BadShape& b : bad) {
    CAPTURE(b.row);
    Graph graph = import(model(graph_of(b.parts)));
    Decider decider({{"batch", 8}});
    Diagnostics warnings;
    const auto done = infer(graph, decider, warnings);
    REQUIRE_FALSE(done);
    const Diagnostic& d = done.error()[0];
    CHECK_MESSAGE(d.code.find(b.code) == 0, d.code, " ", d.message);
    CHECK(d.place.node.find("node 0") == 0);
    CHECK(exit_status(done.error()) == 3);
  }
}

// Found by fuzzing: a position that only the data knows is a number, not a list.
TEST_CASE("a slice at one number of the data keeps its rank") {
  auto graph = parse_text(R"(opset 17
input x: f32[8,4]
input start: i64[]
input end: i64[]
y = Slice(x, start, end)
output y
)");
  REQUIRE(graph);
  Decider decider({});
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  CHECK(graph->tensors[graph->outputs[0]].shape->size() == 2);
}

// Found by fuzzing: nothing gave such an output extents, which a step then asked for.
TEST_CASE("an output that its operator does not have takes no part in a step") {
  const auto buffers = [](const std::string& outputs) {
    auto graph = parse_text("opset 17\ninput x: f32[8,4]\nparam w: f32[4,4]\n" + outputs +
                            " = Shape(x)\nzeros = ConstantOfShape(s)\na = Add(x, zeros)\n"
                            "y = MatMul(a, w)\noutput y\n");
    REQUIRE(graph);
    Decider decider({});
    Diagnostics warnings;
    REQUIRE(infer(*graph, decider, warnings));
    const auto step = expand(*graph, plan_for(*graph), Recipe{}, Policy{}, decider);
    REQUIRE(step);
    return step->step.buffers.size();
  };
  CHECK(buffers("s, more") == buffers("s"));
}

TEST_CASE("A29: what is assumed is accepted and told") {
  Graph graph =
      import(model(graph_of(parts_of({node("FlashThing", {"x"}, {"y"}, {}, "f", "com.acme")}))));
  Decider decider({{"batch", 8}});
  Diagnostics warnings;
  InferOptions options;
  options.assume["FlashThing"] = "ELEMENTWISE";
  REQUIRE(infer(graph, decider, warnings, options));
  CHECK(codes(warnings) == "W210");
}

TEST_CASE("every bit of a small network flipped: an answer or an error, from bytes to shapes") {
  GraphParts parts = conv(attribute("pads", Ints{1, 1, 1, 1}));
  parts.nodes.push_back(node("Reshape", {"y", "s"}, {"z"}));
  parts.initializers.push_back(integers("s", {2}, {0, -1}));
  const std::string whole = model(graph_of(parts)).bytes();
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    CAPTURE(bit);
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    Diagnostics warnings;
    auto graph = import_onnx(source_of(flipped), {}, warnings);
    if (!graph) continue;
    Binding hints;
    for (const std::string& symbol : free_symbols(*graph)) hints[symbol] = 8;
    Decider decider(hints);
    const auto done = infer(*graph, decider, warnings);
    if (!done) CHECK(exit_status(done.error()) >= 3);
  }
}
