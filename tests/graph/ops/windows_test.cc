#include "graph/ops/windows.h"

#include <doctest/doctest.h>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"

namespace plimsoll {
namespace {

Result<Shape> pooled(const std::string& attributes) {
  auto graph = parse_text("opset 17\ninput x: f32[B,8,7,7]\ny = AveragePool(x) {" + attributes +
                          "}\noutput y\n");
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  Decider decider(Binding{{"B", 4}});
  Diagnostics warnings;
  if (auto done = infer(*graph, decider, warnings); !done) return tl::make_unexpected(done.error());
  return *graph->tensors[graph->outputs.front()].shape;
}

}  // namespace

TEST_CASE("a pool wider than its input counts once where extents are rounded up") {
  const auto up = pooled("kernel_shape=[40,40], strides=[40,40], ceil_mode=1");
  REQUIRE(up);
  CHECK((*up)[2] == Dim(1));
  CHECK((*up)[3] == Dim(1));
  const auto down = pooled("kernel_shape=[40,40], strides=[40,40]");
  REQUIRE_FALSE(down);
  CHECK(down.error().front().code == "E241");
  CHECK_FALSE(pooled("kernel_shape=[40,40], strides=[2,2], ceil_mode=1"));
}

}  // namespace plimsoll
