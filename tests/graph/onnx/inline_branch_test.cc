#include <doctest/doctest.h>

#include "graph/base/setting.h"
#include "graph/ops/infer.h"
#include "tests/support/import_support.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

const Proto kRelu = graph_of({{node("Relu", {"x"}, {"s"})}, {}, {}, {untyped("s")}});
const Proto kTwo =
    graph_of({{node("Neg", {"x"}, {"n"}), node("Abs", {"n"}, {"l"})}, {}, {}, {untyped("l")}});

Proto choice(std::string_view condition, std::string_view output = "y",
             std::string_view name = "choice", const Proto& then_branch = kRelu,
             const Proto& else_branch = kTwo) {
  return node(
      "If", {condition}, {output},
      {graph_attribute("then_branch", then_branch), graph_attribute("else_branch", else_branch)},
      name);
}

// With `sr`, a number that every step is fed.
Proto fed(const std::vector<Proto>& nodes, const std::vector<Proto>& initializers = {}) {
  return model(graph_of(
      {nodes, initializers, {value("x", {"batch", 8}), value("sr", {}, 7)}, {untyped("y")}}));
}

std::string last_op(const Proto& model, const ImportOptions& options = {},
                    Diagnostics* warnings = nullptr) {
  return import(model, options, warnings).nodes.back().op;
}

// "Relu" where `comparison` of the shape of x [batch, 8] with `number` along `axis` holds.
Proto asks(std::string_view comparison, int64_t axis, int64_t number) {
  return model_of({node("Shape", {"x"}, {"extents"}), node("Gather", {"extents", "at"}, {"extent"}),
                   node(comparison, {"extent", "number"}, {"condition"}), choice("condition")},
                  {}, {scalar("at", axis), scalar("number", number)});
}

}  // namespace

TEST_CASE("an If that asks for shapes is decided by them") {
  Diagnostics warnings;
  CHECK(last_op(asks("Equal", 1, 8), at_batch(4), &warnings) == "Relu");
  CHECK(last_op(asks("Equal", 1, 9), at_batch(4), &warnings) == "Abs");
  CHECK(last_op(asks("Greater", 1, 7), at_batch(4), &warnings) == "Relu");
  CHECK(last_op(asks("LessOrEqual", 1, 7), at_batch(4), &warnings) == "Abs");
  CHECK(last_op(asks("GreaterOrEqual", 1, 8), at_batch(4), &warnings) == "Relu");
  CHECK(last_op(asks("Less", 1, 8), at_batch(4), &warnings) == "Abs");
  CHECK(warnings.empty());
}

TEST_CASE("an If that asks for a symbol is decided at its value, which guards it") {
  CHECK(last_op(asks("Equal", 0, 4), at_batch(4)) == "Relu");
  const Graph graph = import(asks("Equal", 0, 4), at_batch(5));
  CHECK(graph.nodes.back().op == "Abs");
  REQUIRE(graph.guards.size() == 1);
  CHECK(graph.guards[0].expression == Dim::symbol("batch") - 4);
  CHECK_FALSE(graph.guards[0].holds);
  // Whoever goes on with the graph has them as its own.
  Decider decider({{"batch", 5}}, graph.guards);
  CHECK_FALSE(decider.equal(Dim::symbol("batch"), 4));
  CHECK(decider.guards().size() == 1);
}

TEST_CASE("Not, And, Or and Xor of what is known are known") {
  const auto result = [](std::string_view op, Names operands) {
    return last_op(model_of({node(op, operands, {"c"}), choice("c")}, {},
                            {scalar("yes", 1, 9), scalar("no", 0, 9)})) == "Relu";
  };
  CHECK_FALSE(result("Not", {"yes"}));
  CHECK(result("Not", {"no"}));
  CHECK(result("And", {"yes", "yes"}));
  CHECK_FALSE(result("And", {"yes", "no"}));
  CHECK(result("Or", {"no", "yes"}));
  CHECK_FALSE(result("Or", {"no", "no"}));
  CHECK(result("Xor", {"no", "yes"}));
  CHECK_FALSE(result("Xor", {"yes", "yes"}));
}

TEST_CASE("an If inside a branch is decided by the branch's own shapes") {
  const Proto inner =
      graph_of({{node("Unsqueeze", {"x", "axes"}, {"wide"}), node("Shape", {"wide"}, {"extents"}),
                 node("Size", {"extents"}, {"rank"}), node("Equal", {"rank", "three"}, {"c"}),
                 choice("c", "s", "inner")},
                {},
                {},
                {untyped("s")}});
  const Graph graph =
      import(model_of({choice("yes", "y", "outer", inner)}, {},
                      {scalar("yes", 1, 9), scalar("three", 3), integers("axes", {1}, {0})}));
  CHECK(graph.nodes.back().op == "Relu");
}

TEST_CASE("a guess names the input that decides and the flag for the other branch") {
  Diagnostics warnings;
  const Proto model =
      fed({node("Equal", {"sr", "rate"}, {"c"}), choice("c")}, {scalar("rate", 16000)});
  const Graph graph = import(model, at_batch(4), &warnings);
  CHECK(graph.nodes.back().op == "Abs");
  REQUIRE(codes(warnings) == "W212");
  CHECK(warnings[0].severity == Severity::kWarning);
  CHECK(warnings[0].place.node == "node 1 'choice' (If)");
  CHECK(warnings[0].message ==
        "1 If node: the branch with more nodes is assumed, because the condition depends on the "
        "value of input 'sr'");
  CHECK(warnings[0].help == "for the other give " + setting_entry("branch", "choice", "then"));
  warnings.clear();
  ImportOptions options = at_batch(4);
  options.branches["choice"] = "then";
  CHECK(last_op(model, options, &warnings) == "Relu");
  CHECK(warnings.empty());
}

TEST_CASE("Ifs that ask the same question take the same answer") {
  const auto two = [](std::string_view second) {
    return fed(
        {node("Equal", {"sr", "rate"}, {"c"}), node("Equal", {"sr", "same"}, {"d"}),
         node("Not", {"d"}, {"n"}), choice("c", "m", "first"), choice(second, "y", "second")},
        {scalar("rate", 16000), scalar("same", 16000)});
  };
  Diagnostics warnings;
  CHECK(last_op(two("d"), at_batch(4), &warnings) == "Abs");
  CHECK(last_op(two("n"), at_batch(4), &warnings) == "Relu");
  REQUIRE(codes(warnings) == "W212 W212");
  CHECK(warnings[1].help == "for the other give " + setting_entry("branch", "first", "then"));
  ImportOptions options = at_batch(4);
  options.branches["first"] = "then";
  CHECK(last_op(two("d"), options) == "Relu");
  CHECK(last_op(two("n"), options) == "Abs");
}

TEST_CASE("what follows from a guess says so") {
  // The branch with more nodes makes what the next node cannot take.
  const Proto wrong =
      graph_of({{node("Unsqueeze", {"x", "axes"}, {"a"}), node("Unsqueeze", {"a", "axes"}, {"b"})},
                {},
                {},
                {untyped("b")}});
  const Proto model = fed(
      {node("Cast", {"sr"}, {"c"}, {attribute("to", 9)}), choice("c", "m", "choice", kRelu, wrong),
       node("Relu", {"m"}, {"r"}), node("Gemm", {"r", "w"}, {"y"})},
      {integers("axes", {1}, {0}), tensor("w", 1, {8, 2})});
  Graph graph = import(model, at_batch(4));
  Decider decider({{"batch", 4}}, graph.guards);
  Diagnostics warnings;
  const auto inferred = infer(graph, decider, warnings);
  REQUIRE_FALSE(inferred);
  CHECK(inferred.error()[0].code == "E253");
  CHECK(inferred.error()[0].help ==
        "the else branch of node 1 'choice' (If) was guessed; for the other give " +
            setting_entry("branch", "choice", "then"));
}

TEST_CASE("a loop of unknown length in a guessed branch names the guess, too") {
  const Proto body = graph_of({{node("Relu", {"t"}, {"u"}), node("Neg", {"u"}, {"v"})},
                               {},
                               {untyped("i"), untyped("c"), untyped("t")},
                               {untyped("c"), untyped("v")}});
  const Proto loops =
      graph_of({{node("Loop", {"sr", "", "x"}, {"s"}, {graph_attribute("body", body)}, "loop")},
                {},
                {},
                {untyped("s")}});
  const Diagnostic d = refusal(fed({node("Cast", {"sr"}, {"c"}, {attribute("to", 9)}),
                                    choice("c", "y", "choice", kRelu, loops)}),
                               at_batch(4));
  CHECK(d.code == "E225");
  CHECK(d.help == "give the number of iterations with " + setting_entry("trip", "loop", "10") +
                      "; the else branch of node 1 'choice' (If) was guessed; for the other give " +
                      setting_entry("branch", "choice", "then"));
}

TEST_CASE("--branch for an If that is decided has no effect, and is told") {
  ImportOptions options = at_batch(4);
  options.branches["choice"] = "else";
  Diagnostics warnings;
  CHECK(last_op(asks("Equal", 1, 8), options, &warnings) == "Relu");
  CHECK(codes(warnings) == "W240");
  warnings.clear();
  options.branches["choice"] = "then";
  CHECK(last_op(asks("Equal", 1, 8), options, &warnings) == "Relu");
  CHECK(warnings.empty());
}

TEST_CASE("--branch and --trip for nodes in a branch that is not taken have no effect") {
  const Proto body = graph_of({{node("Relu", {"t"}, {"u"})},
                               {},
                               {untyped("i"), untyped("c"), untyped("t")},
                               {untyped("c"), untyped("u")}});
  const Proto loops =
      graph_of({{node("Loop", {"eight", "", "x"}, {"s"}, {graph_attribute("body", body)}, "loop")},
                {},
                {},
                {untyped("s")}});
  const Proto model =
      model_of({choice("no", "y", "outer", loops)}, {}, {scalar("no", 0, 9), scalar("eight", 8)});
  ImportOptions options;
  options.trips["loop"] = 3;
  Diagnostics warnings;
  CHECK(last_op(model, options, &warnings) == "Abs");
  REQUIRE(codes(warnings) == "W240");
  CHECK(warnings[0].message ==
        setting_entry("trip", "loop") + " has no effect: the loop is never reached");
}

TEST_CASE("--branch and --trip that name no node are refused with the nearest") {
  ImportOptions options;
  options.branches["chioce"] = "then";
  Diagnostic d = refusal(asks("Equal", 1, 8), options);
  CHECK(d.code == "E255");
  CHECK(d.message == setting_entry("branch", "chioce") + ": there is no If of this name");
  CHECK(d.help == "did you mean choice?");
  options.branches = {{"outer/choice", "then"}};  // a path to it
  import(asks("Equal", 1, 8), options);
  options.branches.clear();
  options.trips["nosuch"] = 3;
  d = refusal(asks("Equal", 1, 8), options);
  CHECK(d.code == "E255");
  CHECK(d.help == "the model has none");
}

TEST_CASE("without values for its symbols a file with control flow asks for them") {
  ImportOptions options;
  options.bind = [](const Graph&) -> Result<Binding> { return error("E131", "no value"); };
  CHECK(refusal(asks("Equal", 0, 4), options).code == "E131");
  CHECK(import(model_of({node("Relu", {"x"}, {"y"})}), options).nodes.size() == 1);
  options.inputs_only = true;
  CHECK(import(asks("Equal", 0, 4), options).inputs.size() == 1);
}
