#include "graph/train/module_calls.h"

#include <doctest/doctest.h>

#include "graph/ir/text.h"

namespace plimsoll {

TEST_CASE("a call ends with the last node of its code or of what it calls") {
  const auto graph = parse_text(R"(opset 17
input x: f32[B,8]
a = Relu(x) calls="/0"
b = Relu(a) calls="/0/fc"
c = Relu(b) calls="/0"
d = Relu(c) calls="/1"
e = Relu(d) calls="/"
output e
)");
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  CHECK(ends_of_calls(*graph) == std::vector<NodeId>{2, 1, 2, 3, 4});
}

}  // namespace plimsoll
