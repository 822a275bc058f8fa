// A file's text, recovered, and what its operators are.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "graph/rewrite/fold.h"
#include "graph/rewrite/recover.h"
#include "tests/support/written_by.h"

namespace plimsoll::test {

inline Graph inferred(std::string_view text) {
  auto graph = parse_text(text);
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  const Binding binding{{"B", 4}};
  Decider decider(binding);
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  return std::move(*graph);
}

inline Graph folded(std::string_view text) {
  Graph graph = inferred(text);
  fold(graph);
  return graph;
}

inline Graph recovered(std::string_view text, const std::string& producer = "pytorch 2.9") {
  Graph graph = inferred(text);
  written_by(graph, producer);
  recover(graph);
  return graph;
}

inline std::vector<std::string> op_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.push_back(node.op);
  return names;
}

using Ops = std::vector<std::string>;

}  // namespace plimsoll::test
