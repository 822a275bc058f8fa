#include "graph/onnx/inline.h"

#include <doctest/doctest.h>

#include "graph/base/setting.h"
#include "tests/support/import_support.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

// A Loop over `trips` that applies Relu to its state and stacks what it gets.
Proto loop_node(std::string_view trips, const Proto& body) {
  return node("Loop", {trips, "", "x"}, {"y", "all"}, {graph_attribute("body", body)}, "loop");
}
Proto loop_body(const std::vector<Proto>& extra_nodes = {},
                const std::vector<Proto>& initializers = {}) {
  std::vector<Proto> nodes = {node("Relu", {"s"}, {"t"}, {}, "act"),
                              node("Identity", {"c"}, {"c_out"})};
  nodes.insert(nodes.end(), extra_nodes.begin(), extra_nodes.end());
  return graph_of({nodes,
                   initializers,
                   {untyped("i"), untyped("c"), untyped("s")},
                   {untyped("c_out"), untyped("t"), untyped("t")}});
}

}  // namespace

TEST_CASE("a function is written out in place, with its own names") {
  const Graph graph = import(model_of(
      {node("Twice", {"x"}, {"m"}, {}, "a", "f"), node("Twice", {"m"}, {"y"}, {}, "b", "f")},
      {function("f", "Twice", {"in"}, {"out"},
                {node("Relu", {"in"}, {"t"}, {}, "r"), node("Abs", {"t"}, {"out"})})}));
  CHECK(nodes_text(graph) == "Relu(x)->a/t Abs(a/t)->m Relu(m)->b/t Abs(b/t)->y");
  CHECK(graph.nodes[0].name == "a/r");
}

TEST_CASE("a function's attributes come from the call, or from its defaults") {
  const Proto body = node("Foo", {"in"}, {"out"}, {reference("p", "alpha", 2)});
  Proto with_default = function("f", "F", {"in"}, {"out"}, {body});
  with_default.message(11, attribute("alpha", 7));
  const Graph graph = import(model_of({node("F", {"x"}, {"m"}, {attribute("alpha", 3)}, "", "f"),
                                       node("F", {"m"}, {"y"}, {}, "", "f")},
                                      {with_default}));
  CHECK(graph.nodes[0].attributes.integer("p", 0) == 3);
  CHECK(graph.nodes[1].attributes.integer("p", 0) == 7);
}

TEST_CASE("a Constant of a function takes its value from the call") {
  const Graph graph =
      import(model_of({node("F", {"x"}, {"y"}, {attribute("n", 5)}, "", "f")},
                      {function("f", "F", {"in"}, {"out"},
                                {node("Constant", {}, {"c"}, {reference("value_int", "n", 2)}),
                                 node("Add", {"in", "c"}, {"out"})},
                                {"n"})}));
  CHECK(nodes_text(graph) == "Add(x,y/c)->y");
  CHECK(find(graph, "y/c").contents->integers == std::vector<int64_t>{5});
}

TEST_CASE("functions call functions; an optional input a call leaves out stays out") {
  const Graph graph = import(model_of(
      {node("Outer", {"x"}, {"y"}, {}, "", "f")},
      {function("f", "Inner", {"a", "b"}, {"o"}, {node("Clip", {"a", "b"}, {"o"})}),
       function("f", "Outer", {"in"}, {"out"}, {node("Inner", {"in"}, {"out"}, {}, "", "f")})}));
  CHECK(nodes_text(graph) == "Clip(x,-)->y");
}

TEST_CASE("a function that hands its input through is an Identity") {
  const Graph graph = import(
      model_of({node("F", {"x"}, {"y"}, {}, "", "f")}, {function("f", "F", {"in"}, {"in"}, {})}));
  CHECK(nodes_text(graph) == "Identity(x)->y");
}

TEST_CASE("A26: a function that calls itself is refused by its circle") {
  const Diagnostic d =
      refusal(model_of({node("A", {"x"}, {"y"}, {}, "", "f")},
                       {function("f", "A", {"i"}, {"o"}, {node("B", {"i"}, {"o"}, {}, "", "f")}),
                        function("f", "B", {"i"}, {"o"}, {node("C", {"i"}, {"o"}, {}, "", "f")}),
                        function("f", "C", {"i"}, {"o"}, {node("A", {"i"}, {"o"}, {}, "", "f")})}));
  CHECK(d.code == "E224");
  CHECK(d.message == "functions call each other in a circle: A -> B -> C -> A");
  CHECK(
      refusal(model_of({node("A", {"x"}, {"y"}, {}, "", "f")},
                       {function("f", "A", {"i"}, {"o"}, {node("A", {"i"}, {"o"}, {}, "", "f")})}))
          .message == "functions call each other in a circle: A -> A");
}

TEST_CASE("A27: an expansion bomb is counted, not built") {
  std::vector<Proto> functions;
  for (int i = 0; i < 40; ++i) {
    std::vector<Proto> nodes;
    const std::string called = "F" + std::to_string(i + 1);
    for (int j = 0; j < 10; ++j) {
      nodes.push_back(node(called, {"i"}, {"o" + std::to_string(j)}, {}, "", "f"));
    }
    functions.push_back(function("f", "F" + std::to_string(i), {"i"}, {"o0"}, nodes));
  }
  functions.push_back(function("f", "F40", {"i"}, {"o"}, {node("Relu", {"i"}, {"o"})}));
  const Diagnostic d = refusal(model_of({node("F0", {"x"}, {"y"}, {}, "", "f")}, functions));
  CHECK(d.code == "E802");
  CHECK(d.help == "if this is meant, raise the limit with " + setting_entry("limit", "nodes", "N"));
}

TEST_CASE("calls nested deeper than the limit are refused") {
  std::vector<Proto> functions;
  for (int i = 0; i < 40; ++i) {
    functions.push_back(function("f", "F" + std::to_string(i), {"i"}, {"o"},
                                 {node("F" + std::to_string(i + 1), {"i"}, {"o"}, {}, "", "f")}));
  }
  functions.push_back(function("f", "F40", {"i"}, {"o"}, {node("Relu", {"i"}, {"o"})}));
  const Proto deep = model_of({node("F0", {"x"}, {"y"}, {}, "", "f")}, functions);
  CHECK(refusal(deep).code == "E803");
  ImportOptions options;
  options.limits.depth = 100;
  CHECK(nodes_text(import(deep, options)) == "Relu(x)->y");
}

TEST_CASE("A45: the larger branch of an If is taken, and told") {
  const Proto small = graph_of({{node("Relu", {"x"}, {"s"})}, {}, {}, {untyped("s")}});
  const Proto large = graph_of({{node("Abs", {"x"}, {"t"}), node("Add", {"t", "w"}, {"l"})},
                                {tensor("w", 1, {8})},
                                {},
                                {untyped("l")}});
  const auto choice = [&](const Proto& then_graph, const Proto& else_graph,
                          std::string_view condition) {
    return model_of(
        {node("IsInf", {"x"}, {"dynamic"}), node("If", {condition}, {"y"},
                                                 {graph_attribute("then_branch", then_graph),
                                                  graph_attribute("else_branch", else_graph)},
                                                 "choice")},
        {}, {scalar("yes", 1, 9), scalar("no", 0, 9)});
  };
  Diagnostics warnings;
  const std::string larger = "IsInf(x)->dynamic Abs(x)->choice/t Add(choice/t,choice/w)->y";
  CHECK(nodes_text(import(choice(small, large, "dynamic"), {}, &warnings)) == larger);
  CHECK(codes(warnings) == "W205 W212");
  CHECK(nodes_text(import(choice(large, small, "dynamic"))) == larger);
  warnings.clear();
  CHECK(nodes_text(import(choice(small, large, "yes"), {}, &warnings)) ==
        "IsInf(x)->dynamic Relu(x)->y");
  CHECK(warnings.empty());
  CHECK(nodes_text(import(choice(small, large, "no"))) == larger);
}

TEST_CASE("an If that compares lengths of lists of extents is decided") {
  // As the exporter of tile() asks whether there are fewer repeats than dimensions.
  const Proto grows =
      graph_of({{node("Relu", {"x"}, {"s"}), node("Abs", {"s"}, {"t"})}, {}, {}, {untyped("t")}});
  const Proto stays = graph_of({{node("Neg", {"x"}, {"l"})}, {}, {}, {untyped("l")}});
  const auto asks = [&](std::string_view comparison) {
    return import(model_of(
        {node("Shape", {"table"}, {"extents"}), node("Size", {"extents"}, {"rank"}),
         node("Unsqueeze", {"one", "zeros"}, {"repeat"}),
         node("Concat", {"repeat", "repeat"}, {"repeats"}, {attribute("axis", 0)}),
         node("Size", {"repeats"}, {"count"}), node("Sub", {"rank", "count"}, {"missing"}),
         node(comparison, {"missing", "zero"}, {"condition"}),
         node("If", {"condition"}, {"y"},
              {graph_attribute("then_branch", grows), graph_attribute("else_branch", stays)})},
        {},
        {tensor("table", 1, {1, 4, 8}), scalar("one", 1), scalar("zero", 0),
         integers("zeros", {1}, {0})}));
  };
  CHECK(asks("Greater").nodes.back().op == "Abs");
  CHECK(asks("Less").nodes.back().op == "Neg");
}

TEST_CASE("a Loop is written out, its state handed on and its stacked output joined") {
  const Graph graph = import(model_of({loop_node("trips", loop_body())}, {}, {scalar("trips", 3)}));
  CHECK(nodes_text(graph) ==
        "Relu(x)->loop/0/t Identity(loop/condition)->loop/0/c_out "
        "Relu(loop/0/t)->loop/1/t Identity(loop/condition)->loop/1/c_out "
        "Relu(loop/1/t)->y Identity(loop/condition)->loop/2/c_out "
        "Unsqueeze(loop/0/t,loop/axes)->loop/slice Unsqueeze(loop/1/t,loop/axes)->loop/slice "
        "Unsqueeze(y,loop/axes)->loop/slice Concat(loop/slice,loop/slice,loop/slice)->all");
  CHECK(graph.nodes[2].name == "loop/1/act");
}

TEST_CASE("weights and constants of a loop's body are there once") {
  const Proto body = loop_body({constant("k", integers("", {1}, {4})),
                                node("Add", {"t", "w"}, {"u"}), node("Add", {"u", "k"}, {"v"})},
                               {tensor("w", 1, {8})});
  const Graph graph = import(model_of({loop_node("trips", body)}, {}, {scalar("trips", 5)}));
  int weights = 0, constants = 0;
  for (const Tensor& t : graph.tensors) {
    weights += t.name == "loop/w";
    constants += t.name == "loop/k";
  }
  CHECK(weights == 1);
  CHECK(constants == 1);
}

TEST_CASE("before opset 13 Unsqueeze has its axes as an attribute") {
  const Graph graph =
      import(model_of({loop_node("trips", loop_body())}, {}, {scalar("trips", 1)}, 11));
  CHECK(graph.nodes.back().op == "Unsqueeze");
  CHECK(graph.nodes.back().inputs.size() == 1);
  CHECK(graph.nodes.back().attributes.integers("axes") == std::vector<int64_t>{0});
}

TEST_CASE("A44: an unknown trip count is an error with the flag to paste; --trip gives it") {
  const Proto dynamic = model_of({node("Size", {"x"}, {"n"}), loop_node("n", loop_body())});
  const Diagnostic d = refusal(dynamic);
  CHECK(d.code == "E225");
  CHECK(d.place.node == "node 1 'loop' (Loop)");
  CHECK(d.help == "give the number of iterations with " + setting_entry("trip", "loop", "10"));
  ImportOptions options;
  options.trips["loop"] = 2;
  CHECK(import(dynamic, options).nodes.size() == 1 + 2 * 2 + 3);
  const Proto for_ever =
      model_of({loop_node("trips", loop_body())}, {}, {scalar("trips", INT64_MAX)});
  CHECK(refusal(for_ever).code == "E225");
}

TEST_CASE("a loop whose condition comes from outside runs to its end") {
  const auto passed = [](const std::vector<Proto>& condition) {
    std::vector<Proto> nodes = {node("Relu", {"s"}, {"t"})};
    nodes.insert(nodes.end(), condition.begin(), condition.end());
    const Proto body = graph_of({nodes,
                                 {},
                                 {untyped("i"), untyped("c"), untyped("s")},
                                 {untyped("c_out"), untyped("t"), untyped("t")}});
    return model_of(
        {node("Cast", {"trips"}, {"go"}, {attribute("to", 9)}), loop_node("trips", body)}, {},
        {scalar("trips", 2)});
  };
  Diagnostics warnings;
  import(passed({node("Identity", {"go"}, {"c_out"})}), {}, &warnings);
  CHECK(warnings.empty());
  import(passed({node("ReduceMax", {"t"}, {"m"}), node("Identity", {"m"}, {"c_out"})}), {},
         &warnings);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].code == "W216");
}

TEST_CASE("a loop of too many nodes is refused before it is built") {
  const Proto large = model_of({loop_node("trips", loop_body())}, {}, {scalar("trips", 1'500'000)});
  const Diagnostic d = refusal(large);
  CHECK(d.code == "E802");
  CHECK(d.message == "1500000 iterations of 2 nodes make more than 2000000 nodes");
}

TEST_CASE("a loop without iterations hands its state through, and has nothing to stack") {
  const Proto carries = graph_of({{node("Relu", {"s"}, {"t"})},
                                  {},
                                  {untyped("i"), untyped("c"), untyped("s")},
                                  {untyped("c"), untyped("t")}});
  const Proto none = model_of(
      {node("Loop", {"trips", "", "x"}, {"y"}, {graph_attribute("body", carries)}, "loop")}, {},
      {scalar("trips", 0)});
  CHECK(nodes_text(import(none)) == "Identity(x)->y");
  CHECK(refusal(model_of({loop_node("trips", loop_body())}, {}, {scalar("trips", 0)})).code ==
        "E225");
}

TEST_CASE("a loop whose body may say stop is counted in full, with a warning") {
  const Proto stops = graph_of({{node("Relu", {"s"}, {"t"}), node("ReduceMax", {"t"}, {"c_out"})},
                                {},
                                {untyped("i"), untyped("c"), untyped("s")},
                                {untyped("c_out"), untyped("t")}});
  Diagnostics warnings;
  const Graph graph = import(
      model_of({node("Loop", {"trips", "", "x"}, {"y"}, {graph_attribute("body", stops)}, "loop")},
               {}, {scalar("trips", 2)}),
      {}, &warnings);
  CHECK(graph.nodes.size() == 4);
  CHECK(codes(warnings) == "W216");
}

TEST_CASE("a Scan cuts its inputs and stacks its outputs along their axes") {
  const Proto body = graph_of({{node("Add", {"s", "e"}, {"t"})},
                               {},
                               {untyped("s"), untyped("e")},
                               {untyped("t"), untyped("t")}});
  const Proto scan = node("Scan", {"x", "steps"}, {"y", "all"},
                          {graph_attribute("body", body), attribute("num_scan_inputs", 1),
                           attribute("scan_input_axes", std::vector<int64_t>{1}),
                           attribute("scan_output_axes", std::vector<int64_t>{1})},
                          "scan");
  const Graph graph = import(model_of({scan}, {}, {tensor("steps", 1, {8, 2})}));
  CHECK(nodes_text(graph) ==
        "Gather(steps,scan/0/iteration)->scan/0/e Add(x,scan/0/e)->scan/0/t "
        "Gather(steps,scan/1/iteration)->scan/1/e Add(scan/0/t,scan/1/e)->y "
        "Unsqueeze(scan/0/t,scan/axes)->scan/slice Unsqueeze(y,scan/axes)->scan/slice "
        "Concat(scan/slice,scan/slice)->all");
  CHECK(graph.nodes[0].attributes.integer("axis", 0) == 1);
  CHECK(graph.nodes.back().attributes.integer("axis", 0) == 1);
}

TEST_CASE("an element of a list is the tensor that was put there") {
  const Graph graph = import(
      model_of({node("SequenceEmpty", {}, {"none"}), node("Relu", {"x"}, {"a"}),
                node("SequenceInsert", {"none", "a"}, {"one"}),
                node("SequenceInsert", {"one", "x", "zero"}, {"two"}),
                node("SequenceAt", {"two", "last"}, {"b"}),
                node("ConcatFromSequence", {"two"}, {"c"}, {attribute("axis", 1)}),
                node("SplitToSequence", {"c", "lengths"}, {"parts"}, {attribute("axis", 1)}),
                node("SequenceAt", {"parts", "zero"}, {"p"}), node("Add", {"b", "p"}, {"y"})},
               {},
               {scalar("zero", 0), scalar("last", -1),
                tensor("lengths", 7, {2}).number(7, 10).number(7, 6)}));
  CHECK(nodes_text(graph) ==
        "Relu(x)->a Concat(x,a)->c Split(c,lengths)->part,part Add(a,part)->y");
  // What the graph returns is a tensor of its own.
  CHECK(nodes_text(import(model_of(
            {node("SequenceConstruct", {"x"}, {"one"}), node("SequenceAt", {"one", "zero"}, {"y"})},
            {}, {scalar("zero", 0)}))) == "Identity(x)->y");
}

TEST_CASE("a loop fills a list, and a network that returns it returns what is in it") {
  const Proto body =
      graph_of({{node("Relu", {"x"}, {"t"}), node("SequenceInsert", {"s", "t"}, {"s_out"}),
                 node("Identity", {"c"}, {"c_out"})},
                {},
                {untyped("i"), untyped("c"), untyped("s")},
                {untyped("c_out"), untyped("s_out")}});
  const Graph graph = import(
      model_of({node("SequenceEmpty", {}, {"none"}),
                node("Loop", {"trips", "", "none"}, {"y"}, {graph_attribute("body", body)}, "l")},
               {}, {scalar("trips", 2)}));
  REQUIRE(graph.outputs.size() == 2);
  CHECK(graph.tensors[graph.outputs[0]].name == "l/0/t");
  CHECK(graph.tensors[graph.outputs[1]].name == "l/1/t");
}

// Each iteration makes a new list and no node.
TEST_CASE("a loop that fills a list without bound is refused before it fills the memory") {
  const Proto body =
      graph_of({{node("SequenceInsert", {"s", "x"}, {"s_out"}), node("Identity", {"c"}, {"c_out"})},
                {},
                {untyped("i"), untyped("c"), untyped("s")},
                {untyped("c_out"), untyped("s_out")}});
  const auto fills = [&](int64_t trips) {
    return model_of({node("SequenceEmpty", {}, {"none"}),
                     node("Loop", {"trips", "", "none"}, {"s"}, {graph_attribute("body", body)}),
                     node("ConcatFromSequence", {"s"}, {"y"})},
                    {}, {scalar("trips", trips)});
  };
  CHECK(refusal(fills(100'000)).code == "E802");
  CHECK(import(fills(100)).outputs.size() == 1);
}

TEST_CASE("lists of unknown length are refused by name") {
  const Diagnostic d = refusal(model_of({node("SequenceMap", {"x"}, {"y"}, {}, "pack")}));
  CHECK(d.code == "E226");
  CHECK(d.place.node == "node 0 'pack' (SequenceMap)");
}
