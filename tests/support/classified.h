// A graph's text with the kinds of its parameters.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/exporter/weight_roles.h"
#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "tests/support/written_by.h"

namespace plimsoll::test {

struct Classified {
  Graph graph;
  std::vector<WeightRole> kinds;
  WeightRole operator[](std::string_view name) const {
    for (TensorId id = 0; id < graph.tensors.size(); ++id) {
      if (graph.tensors[id].name == name) return kinds[id];
    }
    FAIL("no tensor ", name);
    return {};
  }
};

// `unwritten`: as Graph::unwritten.
inline Classified classified(std::string_view text,
                             const std::set<std::string, std::less<>>& unwritten = {}) {
  auto graph = parse_text(text);
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  written_by(*graph, "pytorch 2.9");
  graph->unwritten = unwritten;
  for (Tensor& t : graph->tensors) {  // exporters write the values of single numbers
    if (t.kind == TensorKind::kParameter && t.shape && t.shape->empty() && !t.contents)
      t.contents = std::make_shared<Contents>(Contents{.integers = {}, .reals = {0.5}});
  }
  Decider decider(Binding{{"B", 4}});
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  auto kinds = classify_parameters(*graph);
  return {std::move(*graph), std::move(kinds)};
}

}  // namespace plimsoll::test
