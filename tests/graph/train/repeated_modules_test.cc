#include "graph/train/repeated_modules.h"

#include <doctest/doctest.h>

#include "graph/ir/text.h"

namespace plimsoll {
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

std::string shown(const std::vector<ModuleRange>& ranges) {
  std::string text;
  for (const ModuleRange& r : ranges)
    text += r.module + " " + std::to_string(r.first) + "-" + std::to_string(r.last) + "; ";
  return text;
}

}  // namespace

TEST_CASE("repeated modules: the outermost numbered ones with modules inside") {
  const Graph graph = chain({"stem", "layer1.0.conv1", "layer1.0", "layer1.1.down.0", "layer1.1",
                             "layer2.0.conv1", "head"});
  CHECK(shown(modules_below(graph, "")) == "layer1.0 1-3; layer1.1 3-5; layer2.0 5-6; ");
  CHECK(shown(modules_below(graph, "layer1")) == "layer1.0 1-3; layer1.1 3-5; ");
}

TEST_CASE("repeated modules: numbered layers are no blocks, and a module may be named itself") {
  const Graph graph = chain({"features.0", "features.1", "classifier.0"});
  CHECK(modules_below(graph, "").empty());
  CHECK(shown(modules_below(graph, "features")) == "features 0-2; ");
  CHECK(modules_below(graph, "feature").empty());
}

TEST_CASE("repeated modules: what a later module begins inside an earlier one stays there") {
  const Graph graph = chain({"h.0.a", "h.1.a", "h.0.b", "h.1.b"});
  CHECK(shown(modules_below(graph, "")) == "h.0 0-3; h.1 3-4; ");
}

}  // namespace plimsoll
