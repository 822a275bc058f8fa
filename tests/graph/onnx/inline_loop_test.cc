// Loops whose length is computed, or not known at all.
#include <doctest/doctest.h>

#include "graph/base/setting.h"

#include "tests/support/import_support.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

// i, condition and state s go in; `condition` and t come out.
Proto body_of(const std::vector<Proto>& nodes, std::string_view condition) {
  return graph_of(
      {nodes, {}, {untyped("i"), untyped("c"), untyped("s")}, {untyped(condition), untyped("t")}});
}
Proto loop_of(std::string_view trips, std::string_view condition, const Proto& body,
              std::string_view name = "loop", std::string_view input = "x",
              std::string_view output = "y") {
  return node("Loop", {trips, condition, input}, {output}, {graph_attribute("body", body)}, name);
}
const Proto kReluBody = body_of({node("Relu", {"s"}, {"t"})}, "c");

size_t count(const Graph& graph, std::string_view op) {
  size_t found = 0;
  for (const Node& node : graph.nodes) found += node.op == op;
  return found;
}

}  // namespace

TEST_CASE("a trip count computed from shapes is known, at the values of symbols") {
  const auto over = [](int64_t axis) {
    return model_of({node("Shape", {"x"}, {"extents"}), node("Gather", {"extents", "at"}, {"n"}),
                     loop_of("n", "", kReluBody)},
                    {}, {scalar("at", axis)});
  };
  CHECK(count(import(over(1), at_batch(4)), "Relu") == 8);
  const Graph graph = import(over(0), at_batch(3));
  CHECK(count(graph, "Relu") == 3);
  REQUIRE(graph.guards.size() == 1);
  CHECK(graph.guards[0].expression == Dim::symbol("batch") - 3);
  CHECK(graph.guards[0].holds);
}

// As tf2onnx writes tf.while_loop: no trip count, and a condition that the body computes.
TEST_CASE("a while loop whose condition is computed from shapes runs as often as it says") {
  const Proto body = graph_of({{node("Add", {"n", "one"}, {"n_out"}), node("Relu", {"s"}, {"t"}),
                                node("Less", {"n_out", "steps"}, {"go"})},
                               {},
                               {untyped("i"), untyped("c"), untyped("n"), untyped("s")},
                               {untyped("go"), untyped("n_out"), untyped("t")}});
  const auto from = [&](int64_t start) {
    return model_of(
        {node("Shape", {"x"}, {"extents"}), node("Gather", {"extents", "one"}, {"steps"}),
         node("Less", {"start", "steps"}, {"first"}),
         node("Loop", {"", "first", "start", "x"}, {"last", "y"}, {graph_attribute("body", body)},
              "while")},
        {}, {scalar("one", 1), scalar("start", start)});
  };
  const Graph graph = import(from(0), at_batch(4));
  CHECK(count(graph, "Relu") == 8);
  CHECK(count(import(from(6), at_batch(4)), "Relu") == 2);
  CHECK(count(import(from(9), at_batch(4)), "Relu") == 0);
  // The values of the last iteration become the node's.
  CHECK(graph.nodes.back().op == "Identity");
}

TEST_CASE("a loop that its condition ends before its trip count is not counted in full") {
  const Proto body =
      body_of({node("Relu", {"s"}, {"t"}), node("Less", {"i", "two"}, {"go"})}, "go");
  Diagnostics warnings;
  const Graph graph =
      import(model_of({loop_of("ten", "", body)}, {}, {scalar("ten", 10), scalar("two", 2)}), {},
             &warnings);
  CHECK(count(graph, "Relu") == 3);
  CHECK(warnings.empty());
}

TEST_CASE("all unknown trip counts are asked for at once, nested ones too") {
  const Proto nested =
      body_of({node("ReduceMax", {"s"}, {"m"}), node("Cast", {"m"}, {"k"}, {attribute("to", 7)}),
               loop_of("k", "", kReluBody, "inner", "s", "t")},
              "c");
  const Proto model = model_of(
      {node("ReduceMax", {"x"}, {"m"}), node("Cast", {"m"}, {"n"}, {attribute("to", 7)}),
       loop_of("n", "", nested, "outer", "x", "a"), loop_of("n", "", kReluBody, "last", "a", "y")});
  const Diagnostic d = refusal(model, at_batch(4));
  CHECK(d.code == "E225");
  CHECK(d.message == "the file does not say how often the loop runs; the same is true for 2 more");
  CHECK(d.place.node == "node 2 'outer' (Loop)");
  CHECK(d.help == "give the numbers of iterations with " + setting_entry("trip", "outer", "10") +
                      " " + setting_entry("trip", "inner", "10") + " " +
                      setting_entry("trip", "last", "10"));
  ImportOptions options = at_batch(4);
  options.trips = {{"outer", 2}, {"inner", 3}, {"last", 1}};
  CHECK(count(import(model, options), "Relu") == 2 * 3 + 1);
}

TEST_CASE("loops of empty iterations are counted before they take for ever") {
  Proto body = body_of({}, "c");
  const auto empty = [](std::string_view output) {
    return graph_of(
        {{}, {}, {untyped("i"), untyped("c"), untyped("s")}, {untyped("c"), untyped(output)}});
  };
  body = empty("s");
  for (int depth = 0; depth < 3; ++depth) {
    body = graph_of({{loop_of("many", "", body, "inner", "s", "t")},
                     {},
                     {untyped("i"), untyped("c"), untyped("s")},
                     {untyped("c"), untyped("t")}});
  }
  const Diagnostic d =
      refusal(model_of({loop_of("many", "", body)}, {}, {scalar("many", 100'000)}));
  CHECK(d.code == "E802");
}

TEST_CASE("a while loop without end is refused at the limit") {
  const Proto body =
      body_of({node("Relu", {"s"}, {"t"}), node("Less", {"zero", "one"}, {"go"})}, "go");
  ImportOptions options;
  options.limits.nodes = 1000;
  const Diagnostic d = refusal(
      model_of({loop_of("", "", body)}, {}, {scalar("zero", 0), scalar("one", 1)}), options);
  CHECK(d.code == "E802");
}

TEST_CASE("a Scan over a value computed in the graph has the length that is inferred") {
  const Proto body = graph_of(
      {{node("Add", {"s", "e"}, {"t"})}, {}, {untyped("s"), untyped("e")}, {untyped("t")}});
  const Graph graph = import(
      model_of({node("Transpose", {"x"}, {"steps"}), node("ReduceSum", {"x"}, {"start"}),
                node("Scan", {"start", "steps"}, {"y"},
                     {graph_attribute("body", body), attribute("num_scan_inputs", 1)}, "scan")}),
      at_batch(4));
  CHECK(count(graph, "Add") == 8);
}
