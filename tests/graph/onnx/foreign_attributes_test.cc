// What a file writes beside its operators' own attributes has no meaning.
#include <doctest/doctest.h>

#include "graph/ir/text.h"
#include "tests/support/import_support.h"

namespace plimsoll {
namespace {

using namespace test;

}  // namespace

TEST_CASE("attributes that an operator does not have are left out and said") {
  const Proto plain = model_of(
      {node("Relu", {"x"}, {"a"}, {}, "first"), node("LeakyRelu", {"a"}, {"y"}, {}, "second")});
  const Proto marked =
      model_of({node("Relu", {"x"}, {"a"},
                     {attribute("in_place", 1), attribute("plimsoll.pad_merged", 1)}, "first"),
                node("LeakyRelu", {"a"}, {"y"},
                     {attribute("in_place", 1), attribute("of_view", 1),
                      tensor_attribute("value", scalar("v", 3))},
                     "second")});
  Diagnostics warnings;
  const Graph graph = import(marked, {}, &warnings);
  CHECK(to_text(graph) == to_text(import(plain)));
  CHECK(codes(warnings) == "W302 W302 W302 W302");
  CHECK(warnings[0].message == "LeakyRelu has no attribute 'in_place': ignored at 1 node");
}

TEST_CASE("however many foreign attributes there are, few lines say so") {
  std::vector<Proto> nodes;
  for (int i = 0; i < 100; ++i) {
    const std::string from = i == 0 ? "x" : "v" + std::to_string(i - 1);
    const std::string to = i == 99 ? "y" : "v" + std::to_string(i);
    nodes.push_back(node("Relu", {from}, {to}, {attribute("a" + std::to_string(i), 1)}));
  }
  Diagnostics warnings;
  import(model_of(nodes), {}, &warnings);
  CHECK(warnings.size() == 32);
}

TEST_CASE("a function's own attributes are its own; its nodes have their operators'") {
  const Proto body = node("LeakyRelu", {"a"}, {"b"}, {reference("alpha", "slope", 1)});
  const Proto bent = function("mine", "Bent", {"a"}, {"b"}, {body}, {"slope"});
  const Proto slope = Proto().text(1, "slope").real(2, 0.5F).number(20, 1);
  Diagnostics warnings;
  const Graph graph =
      import(model_of({node("Bent", {"x"}, {"y"}, {slope}, "n", "mine")}, {bent}), {}, &warnings);
  CHECK(graph.nodes[0].attributes.real("alpha", 0) == 0.5);
  CHECK(warnings.empty());
}

TEST_CASE("no file has this tool's own operators") {
  const Diagnostic fault = refusal(model_of({node("Silu", {"x"}, {"y"}, {}, "n", "plimsoll")}));
  CHECK(fault.code == "E210");
  CHECK(fault.place.node.find("'n'") != std::string::npos);
}

}  // namespace plimsoll
