#include "graph/parallel/unit.h"

#include <doctest/doctest.h>

#include "graph/ir/text.h"

namespace plimsoll::parallel {
namespace {

Graph chain(std::initializer_list<const char*> modules) {
  std::string text = "opset 17\ninput x0: f32[4]\n";
  size_t i = 0;
  for (const char* module : modules) {
    text += "x" + std::to_string(i + 1) + " = Relu(x" + std::to_string(i) + ") module=\"" + module +
            "\"\n";
    ++i;
  }
  auto graph = parse_text(text + "output x" + std::to_string(i) + "\n");
  REQUIRE(graph);
  return std::move(*graph);
}

std::string shown(const std::vector<Unit>& units) {
  std::string text;
  for (const Unit& u : units)
    text += u.module + " " + std::to_string(u.first) + "-" + std::to_string(u.last) + "; ";
  return text;
}

}  // namespace

TEST_CASE("units: the outermost numbered ones with modules inside") {
  const Graph graph = chain({"stem", "layer1.0.conv1", "layer1.0", "layer1.1.down.0", "layer1.1",
                             "layer2.0.conv1", "head"});
  CHECK(shown(units_below(graph, "")) == "layer1.0 1-3; layer1.1 3-5; layer2.0 5-6; ");
  CHECK(shown(units_below(graph, "layer1")) == "layer1.0 1-3; layer1.1 3-5; ");
}

TEST_CASE("units: numbered layers are no blocks, and a module may be named itself") {
  const Graph graph = chain({"features.0", "features.1", "classifier.0"});
  CHECK(units_below(graph, "").empty());
  CHECK(shown(units_below(graph, "features")) == "features 0-2; ");
  CHECK(units_below(graph, "feature").empty());
}

TEST_CASE("units: some of the modules, by a list of paths or a pattern of them") {
  const Graph graph = chain({"stem.conv", "h.0.a", "h.1.a", "h.1.b", "h.2.a", "h.10.a", "head"});
  CHECK(shown(units_called(graph, "h.2,h.0")) == "h.0 1-2; h.2 4-5; ");
  CHECK(shown(units_called(graph, "h.?")) == "h.0 1-2; h.1 2-4; h.2 4-5; ");
  CHECK(shown(units_called(graph, "h.1*")) == "h.1 2-4; h.10 5-6; ");
  CHECK(units_called(graph, "h.0,h.7").empty());
}

TEST_CASE("units: what a later module begins inside an earlier one stays there") {
  const Graph graph = chain({"h.0.a", "h.1.a", "h.0.b", "h.1.b"});
  CHECK(shown(units_below(graph, "")) == "h.0 0-3; h.1 3-4; ");
}

TEST_CASE("units: each has the weights that it alone reads, the one around them has the others") {
  const auto graph = parse_text(
      "opset 17\ninput x: f32[4,4]\nparam tied: f32[4,4]\nparam a: f32[4,4]\nparam b: f32[4,4]\n"
      "param unread: f32[4]\nparam head: f32[4,4]\n"
      "e = MatMul(x, tied) module=\"embed\"\nh = MatMul(e, a) module=\"h.0.fc\"\n"
      "i = MatMul(h, a) module=\"h.0.fc\"\nj = MatMul(i, b) module=\"h.1.fc\"\n"
      "k = MatMul(j, tied) module=\"h.1.fc\"\ny = MatMul(k, head) module=\"head\"\noutput y\n");
  REQUIRE(graph);
  std::vector<Unit> units = units_below(*graph, "");
  const Unit around = find_weights(*graph, units);
  const auto names = [&](const Unit& unit) {
    std::string text;
    for (const TensorId id : unit.weights) text += graph->tensors[id].name + " ";
    return text;
  };
  REQUIRE(units.size() == 2);
  CHECK(names(units[0]) == "a ");
  CHECK(names(units[1]) == "b ");
  CHECK(names(around) == "tied head ");
  CHECK(around.first == 0);
  CHECK(around.last == graph->nodes.size());
  CHECK(unit_from(units, 1) == &units[0]);
  CHECK(unit_from(units, 2) == nullptr);
  CHECK(unit_from(units, 3) == &units[1]);
}

}  // namespace plimsoll::parallel
