// Loops over bags of embeddings, as exporters write them.
#include <doctest/doctest.h>

#include "tests/support/import_support.h"

using namespace plimsoll;
using namespace plimsoll::test;

TEST_CASE("a loop over bags of looked-up rows is one operator") {
  const auto body = [](std::string_view reduce) {
    return graph_of(
        {{node("Gather", {"begins", "i"}, {"b"}), node("Gather", {"ends", "i"}, {"e"}),
          node("Unsqueeze", {"b"}, {"from"}), node("Unsqueeze", {"e"}, {"to"}),
          node("Slice", {"x", "from", "to"}, {"bag"}), node("Gather", {"table", "bag"}, {"rows"}),
          node(reduce, {"rows"}, {"one"}), node("Cast", {"c"}, {"c_out"})},
         {},
         {untyped("i"), untyped("c")},
         {untyped("c_out"), untyped("one")}});
  };
  const auto bags = [&](std::string_view reduce) {
    return model_of(
        {node("Range", {"zero", "ten", "two"}, {"offsets"}),
         node("Concat", {"offsets", "end"}, {"begins"}),
         node("Slice", {"begins", "one", "end"}, {"ends"}), node("Size", {"ends"}, {"bags"}),
         node("Loop", {"bags", ""}, {"y"}, {graph_attribute("body", body(reduce))})},
        {},
        {scalar("zero", 0), scalar("ten", 10), scalar("two", 2),
         tensor("end", 7, {1}).number(7, 10), tensor("one", 7, {1}).number(7, 1),
         tensor("table", 1, {50, 8})});
  };
  const Graph graph = import(bags("ReduceSum"));
  const Node& bag = graph.nodes.back();
  CHECK(nodes_text(graph).ends_with("EmbeddingBag(table,x,offsets)->y"));
  CHECK(bag.domain == "plimsoll");
  CHECK(bag.attributes.string("mode", "") == "sum");
  CHECK(bag.attributes.integer("include_last_offset", 1) == 0);
  CHECK(refusal(bags("ReduceProd")).code == "E225");
}

TEST_CASE("a loop over bags of rows, looked up before it, is one operator") {
  // As the newer exporter writes a bag of means: the last bag, and empty ones, have branches.
  const auto filled = [](std::string_view reduce) {
    const Proto last = graph_of({{node("ReduceSum", {"bag"}, {"sum"})}, {}, {}, {untyped("sum")}});
    const Proto other = graph_of({{node(reduce, {"bag"}, {"mean"})}, {}, {}, {untyped("mean")}});
    return graph_of(
        {{node("Slice", {"weighed", "from", "to"}, {"bag"}),
          node("Equal", {"i", "end"}, {"is_last"}),
          node("If", {"is_last"}, {"row"},
               {graph_attribute("then_branch", last), graph_attribute("else_branch", other)})},
         {},
         {},
         {untyped("row")}});
  };
  const Proto empty = graph_of({{}, {}, {}, {untyped("nothing")}});
  // Where the list comes second, with the casts of an export that is not optimised.
  // `folded`: the sizes are fixed, and the exporter writes the ones as an array.
  const auto bags = [&](std::string_view reduce, bool list_first, bool folded = false) {
    std::vector<std::string> in{"n", "c", "list", "i"}, out{"c_out", "longer", "next"};
    if (!list_first) {
      std::swap(in[2], in[3]);
      std::swap(out[1], out[2]);
    }
    const Proto body = graph_of(
        {{node("Slice", {"begins", "i", "next"}, {"from"}),
          node("Slice", {"begins", "next"}, {"to"}), node("Equal", {"from", "to"}, {"is_empty"}),
          node("If", {"is_empty"}, {"bag_row"},
               {graph_attribute("then_branch", empty),
                graph_attribute("else_branch", filled(reduce))}),
          node("SequenceInsert", {"list", "bag_row"}, {"longer"}),
          node("Add", {"i", "one"}, {"next"}), node("Less", {"next", "end"}, {"c_out"})},
         {},
         {untyped(in[0]), untyped(in[1]), untyped(in[2]), untyped(in[3])},
         {untyped(out[0]), untyped(out[1]), untyped(out[2])}});
    return model_of(
        {node("Gather", {"table", "x"}, {"rows"}), node("Expand", {"weight", "length"}, {"ones"}),
         node("CastLike", {"ones", "table"}, {"typed"}),
         node("Unsqueeze", {list_first ? "ones" : "typed", "one"}, {!folded ? "column" : "unused"}),
         node("Mul", {"rows", "column"}, {list_first ? "weighed" : "product"}),
         node("Cast", {list_first ? "rows" : "product"}, {list_first ? "unread" : "weighed"},
              {attribute("to", 1)}),
         node("Range", {"zero", "ten", "two"}, {"offsets"}),
         node("Concat", {"offsets", "end"}, {"begins"}), node("SequenceEmpty", {}, {"none"}),
         list_first ? node("Loop", {"", "true", "none", "zero"}, {"all", "count"},
                           {graph_attribute("body", body)})
                    : node("Loop", {"", "true", "zero", "none"}, {"count", "all"},
                           {graph_attribute("body", body)}),
         node("ConcatFromSequence", {"all"}, {"y"}, {attribute("axis", 0)})},
        {},
        {scalar("zero", 0), scalar("ten", 10), scalar("two", 2), scalar("true", 1),
         tensor("end", 7, {1}).number(7, 10), tensor("one", 7, {1}).number(7, 1),
         tensor("length", 7, {1}).number(7, 10), tensor("weight", 1, {1}),
         tensor("table", 1, {50, 8}), tensor(!folded ? "spare" : "column", 1, {10, 1})});
  };
  for (const bool list_first : {true, false}) {
    const Graph graph = import(bags("ReduceMean", list_first));
    CHECK(nodes_text(graph).ends_with("EmbeddingBag(table,x,offsets)->bags Identity(bags)->y"));
    CHECK(graph.nodes[graph.nodes.size() - 2].attributes.string("mode", "") == "mean");
    const std::string folded = nodes_text(import(bags("ReduceMean", list_first, true)));
    CHECK(folded.ends_with("EmbeddingBag(table,x,offsets)->bags Identity(bags)->y"));
    // Any other loop is written out: its condition is known at each turn.
    const std::string products = nodes_text(import(bags("ReduceProd", list_first)));
    CHECK(products.find("EmbeddingBag") == std::string::npos);
    CHECK(products.find("ReduceProd") != std::string::npos);
  }
}

// As the newer exporter writes any mode without optimising: the mode is compared with each there
// is.
TEST_CASE("which branch of a loop over bags is the module's mode, the file's constants say") {
  const auto row = [](std::string_view reduce) {
    return graph_of({{node(reduce, {"bag"}, {"one"})}, {}, {}, {untyped("one")}});
  };
  const auto bags = [&](int64_t mode) {
    const Proto body =
        graph_of({{node("Slice", {"begins", "i", "next"}, {"from"}),
                   node("Slice", {"begins", "next"}, {"to"}),
                   node("Slice", {"weighed", "from", "to"}, {"bag"}),
                   node("Constant", {}, {"mode"}, {attribute("value_int", mode)}),
                   node("Constant", {}, {"sum"}, {attribute("value_int", 0)}),
                   node("Equal", {"mode", "sum"}, {"is_sum"}),
                   node("If", {"is_sum"}, {"bag_row"},
                        {graph_attribute("then_branch", row("ReduceSum")),
                         graph_attribute("else_branch", row("ReduceMax"))}),
                   node("SequenceInsert", {"list", "bag_row"}, {"longer"}),
                   node("Add", {"i", "one"}, {"next"}), node("Less", {"next", "end"}, {"c_out"})},
                  {},
                  {untyped("n"), untyped("c"), untyped("list"), untyped("i")},
                  {untyped("c_out"), untyped("longer"), untyped("next")}});
    return import(model_of(
        {node("Gather", {"table", "x"}, {"rows"}), node("Expand", {"weight", "length"}, {"ones"}),
         node("Unsqueeze", {"ones", "one"}, {"column"}),
         node("Mul", {"rows", "column"}, {"weighed"}),
         node("Range", {"zero", "ten", "two"}, {"offsets"}),
         node("Concat", {"offsets", "end"}, {"begins"}), node("SequenceEmpty", {}, {"none"}),
         node("Loop", {"", "true", "none", "zero"}, {"all", "count"},
              {graph_attribute("body", body)}),
         node("ConcatFromSequence", {"all"}, {"y"}, {attribute("axis", 0)})},
        {},
        {scalar("zero", 0), scalar("ten", 10), scalar("two", 2), scalar("true", 1),
         tensor("end", 7, {1}).number(7, 10), tensor("one", 7, {1}).number(7, 1),
         tensor("length", 7, {1}).number(7, 10), tensor("weight", 1, {1}),
         tensor("table", 1, {50, 8})}));
  };
  for (const auto& [mode, name] : {std::pair(0, "sum"), std::pair(2, "max")}) {
    const Graph graph = bags(mode);
    const Node& bag = graph.nodes[graph.nodes.size() - 2];
    CHECK(bag.op == "EmbeddingBag");
    CHECK(bag.attributes.string("mode", "") == name);
  }
}
