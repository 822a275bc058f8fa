// Rows A27 and B15's kin: what multiplies as it is written out is counted first.
#include <doctest/doctest.h>

#include "tests/support/import_support.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

// Relu under `levels` loops of as many iterations each, or under functions and Ifs in between.
Proto looped(int levels, bool through_functions, std::vector<Proto>& functions) {
  const std::string level = std::to_string(levels), below = std::to_string(levels - 1);
  if (levels == 0) return node("Relu", {"x0"}, {"y0"});
  GraphParts body;
  body.inputs = {value("i", {}, 7), value("c", {}, 9), value("x" + below, {4, 8})};
  body.outputs = {value("again", {}, 9), value("z" + level, {4, 8})};
  body.nodes = {node("Identity", {"c"}, {"again"}),
                looped(levels - 1, through_functions, functions),
                node("Identity", {"y" + below}, {"z" + level})};
  const Proto trips = constant("trips", scalar("", 1000)),
              cond = constant("cond", scalar("", 1, 9));
  const Proto loop = node("Loop", {"trips", "cond", "x" + level}, {"y" + level},
                          {graph_attribute("body", graph(body))}, "loop" + level);
  GraphParts branch{{trips, cond, loop}, {}, {}, {value("y" + level, {4, 8})}};
  const Proto decided = node("If", {"cond"}, {"y" + level},
                             {graph_attribute("then_branch", graph(branch)),
                              graph_attribute("else_branch", graph(branch))});
  if (!through_functions) return decided;
  functions.push_back(function("f", "f" + level, {"x" + level, "cond"}, {"y" + level}, {decided}));
  return node("f" + level, {"x" + level, "cond"}, {"y" + level}, {}, {}, "f");
}

}  // namespace

TEST_CASE("A27: loops in loops, in branches and in functions are counted, not built") {
  for (const bool through_functions : {false, true}) {
    CAPTURE(through_functions);
    std::vector<Proto> functions;
    const Proto outermost = looped(3, through_functions, functions);
    const Proto bomb = model(graph({{constant("cond", scalar("", 1, 9)), outermost},
                                    {},
                                    {value("x3", {4, 8})},
                                    {untyped("y3")}}),
                             17, functions);
    ImportOptions options;
    options.limits.nodes = 2'000'000'000;  // 3 * 10^9 would be built, were they not foreseen
    CHECK(refusal(bomb, options).code == "E802");
  }
}

TEST_CASE("functions that call functions are counted, and end at a limit before they are copied") {
  // A call of ten, six deep: a kilobyte that becomes a million nodes.
  const auto bomb = [](int calls, int levels) {
    std::vector<Proto> functions;
    for (int level = 0; level < levels; ++level) {
      std::vector<Proto> nodes;
      const std::string name = level == 0 ? "Relu" : "f" + std::to_string(level - 1);
      for (int i = 0; i < calls; ++i) {
        const std::string from = i == 0 ? "x" : "t" + std::to_string(i);
        const std::string to = i + 1 == calls ? "y" : "t" + std::to_string(i + 1);
        nodes.push_back(node(name, {from}, {to}, {}, {}, level == 0 ? "" : "f"));
      }
      functions.push_back(function("f", "f" + std::to_string(level), {"x"}, {"y"}, nodes));
    }
    return model(graph({{node("f" + std::to_string(levels - 1), {"x"}, {"y"}, {}, {}, "f")},
                        {},
                        {value("x", {4})},
                        {untyped("y")}}),
                 17, functions);
  };
  for (const auto& [calls, levels] : {std::pair(10, 6), std::pair(7, 7), std::pair(2, 19)}) {
    const Proto file = bomb(calls, levels);
    CHECK(file.bytes().size() < 4000);
    const Diagnostic refused = refusal(file);
    CHECK(refused.code == "E802");
    CHECK(refused.message.find("nodes become") != std::string::npos);
  }
  CHECK(import(bomb(10, 4)).nodes.size() == 10'000);
}
