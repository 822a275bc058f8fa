#include "graph/eager/triangular.h"

#include <doctest/doctest.h>

#include "graph/eager/ops.h"

namespace plimsoll::eager {

TEST_CASE("solve_triangular: the result lies column by column, and is kept with the matrix") {
  Recipe recipe;
  Policy policy;
  Decider decider{Binding{}};
  Machine machine{recipe, policy, decider};
  const Value a = machine.parameter(DType::kFloat32, {3, 8, 8});
  const Value b = machine.parameter(DType::kFloat32, {3, 8, 16});
  const Value x = solve_triangular(machine, a, b);
  CHECK(x.sizes() == b.sizes());
  CHECK(x.strides() == Shape{128, 1, 8});
  REQUIRE(x.requires_grad());
  REQUIRE(x.grad()->kept.size() == 2);
  CHECK(x.grad()->saved(0).storage() == a.storage());
  CHECK(x.grad()->saved(1).storage() == x.storage());
}

}  // namespace plimsoll::eager
