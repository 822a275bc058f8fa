// Lists of tensors and optional tensors, as exporters write split, unbind and their like.
#include <doctest/doctest.h>

#include "graph/ops/infer.h"
#include "tests/support/import_support.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

// The shape of `y`, which is made of x [batch, 8] at batch 4.
std::string shape_of_y(const std::vector<Proto>& nodes,
                       const std::vector<Proto>& initializers = {}) {
  ImportOptions options;
  options.bind = [](const Graph&) -> Result<Binding> { return Binding{{"batch", 4}}; };
  Graph graph = import(model_of(nodes, {}, initializers), options);
  Decider decider({{"batch", 4}}, graph.guards);
  Diagnostics warnings;
  const auto inferred = infer(graph, decider, warnings);
  const std::string why = inferred ? "" : inferred.error()[0].message;
  CAPTURE(why);
  REQUIRE(inferred);
  return shape_text(graph, "y");
}

std::vector<Proto> element(const Proto& split, std::string_view index) {
  return {split, node("SequenceAt", {"parts", index}, {"y"})};
}

}  // namespace

TEST_CASE("a scalar split gives parts of that length, the last of what is left") {
  const Proto split = node("SplitToSequence", {"x", "three"}, {"parts"}, {attribute("axis", 1)});
  const std::vector<Proto> numbers = {scalar("three", 3), scalar("first", 0), scalar("last", -1)};
  CHECK(shape_of_y(element(split, "first"), numbers) == "f32[batch,3]");
  CHECK(shape_of_y(element(split, "last"), numbers) == "f32[batch,2]");
}

TEST_CASE("without split each part is one long, and loses its axis where keepdims says so") {
  const std::vector<Proto> at = {scalar("first", 0)};
  const auto split = [](int64_t axis, int64_t keep) {
    return node("SplitToSequence", {"x"}, {"parts"},
                {attribute("axis", axis), attribute("keepdims", keep)});
  };
  CHECK(shape_of_y(element(split(1, 1), "first"), at) == "f32[batch,1]");
  CHECK(shape_of_y(element(split(1, 0), "first"), at) == "f32[batch]");
  // Of a batch of 4.
  CHECK(shape_of_y({split(0, 0), node("SequenceLength", {"parts"}, {"n"}),
                    node("Expand", {"x0", "shape"}, {"e"}),
                    node("ConcatFromSequence", {"parts"}, {"y"},
                         {attribute("axis", 0), attribute("new_axis", 1)})},
                   {tensor("x0", 1, {1}), integers("shape", {1}, {2})}) == "f32[4,8]");
}

TEST_CASE("the length of a list is a number that is known") {
  const Proto split = node("SplitToSequence", {"x", "two"}, {"parts"}, {attribute("axis", 1)});
  CHECK(shape_of_y({split, node("SequenceLength", {"parts"}, {"n"}),
                    node("Sub", {"n", "one"}, {"m"}), node("SequenceAt", {"parts", "m"}, {"y"})},
                   {scalar("two", 2), scalar("one", 1)}) == "f32[batch,2]");
}

TEST_CASE("an element is taken out of a list") {
  const Proto split = node("SplitToSequence", {"x", "three"}, {"parts"}, {attribute("axis", 1)});
  const std::vector<Proto> numbers = {scalar("three", 3), scalar("first", 0)};
  const auto without = [&](Names inputs) {
    return shape_of_y({split, node("SequenceErase", inputs, {"rest"}),
                       node("ConcatFromSequence", {"rest"}, {"y"}, {attribute("axis", 1)})},
                      numbers);
  };
  CHECK(without({"parts"}) == "f32[batch,6]");
  CHECK(without({"parts", "first"}) == "f32[batch,5]");
}

TEST_CASE("ReverseSequence is no list") {
  CHECK(shape_of_y({node("ReverseSequence", {"x", "lengths"}, {"y"},
                         {attribute("batch_axis", 0), attribute("time_axis", 1)})},
                   {integers("lengths", {4}, {8, 8, 8, 8})}) == "f32[batch,8]");
}

TEST_CASE("an optional is its tensor, or known to be absent") {
  CHECK(shape_of_y({node("Optional", {"x"}, {"o"}), node("OptionalGetElement", {"o"}, {"y"})}) ==
        "f32[batch,8]");
  const Proto relu = graph_of({{node("Relu", {"x"}, {"s"})}, {}, {}, {untyped("s")}});
  const Proto flat =
      graph_of({{node("Flatten", {"x"}, {"a"}, {attribute("axis", 0)}), node("Relu", {"a"}, {"l"})},
                {},
                {},
                {untyped("l")}});
  const auto where = [&](const Proto& optional) {
    return shape_of_y(
        {optional, node("OptionalHasElement", {"o"}, {"there"}),
         node("If", {"there"}, {"y"},
              {graph_attribute("then_branch", relu), graph_attribute("else_branch", flat)})});
  };
  CHECK(where(node("Optional", {"x"}, {"o"})) == "f32[batch,8]");
  CHECK(where(node("Optional", {}, {"o"})) == "f32[1,8*batch]");
  CHECK(refusal(model_of({node("Optional", {}, {"o"}), node("OptionalGetElement", {"o"}, {"y"})}))
            .code == "E226");
}
