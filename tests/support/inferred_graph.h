// A graph of the text form, with shapes inferred.
#pragma once

#include <doctest/doctest.h>

#include <string_view>
#include <utility>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"

namespace plimsoll::test {

inline Graph inferred_graph(std::string_view text) {
  auto graph = parse_text(text);
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  Decider decider({});
  Diagnostics warnings;
  REQUIRE(infer(*graph, decider, warnings));
  return std::move(*graph);
}

}  // namespace plimsoll::test
