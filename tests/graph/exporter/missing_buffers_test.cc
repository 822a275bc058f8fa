#include "graph/exporter/missing_buffers.h"

#include <doctest/doctest.h>

#include "tests/support/classified.h"

namespace plimsoll {

TEST_CASE("equal tables that an exporter gave back under their own names are one each") {
  const test::Classified model = test::classified(R"(opset 17
input x: f32[B,64]
param layers.0.attn.index: i64[64]
param layers.0.attn.table: f32[16,64]
param layers.1.attn.table: f32[16,64]
layers.1.attn.index = Identity(layers.0.attn.index)
a = Gather(layers.0.attn.table, layers.0.attn.index) {axis=0}
b = Gather(layers.1.attn.table, layers.1.attn.index) {axis=0}
first = MatMul(x, a)
second = MatMul(first, b)
output second
)");
  const auto unwritten = missing_buffers(model.graph, model.kinds);
  REQUIRE(unwritten.size() == 1);
  CHECK(unwritten[0].shape == Shape{Dim(64)});
}

}  // namespace plimsoll
