#include "estimator/library/workspace/formula.h"

#include <doctest/doctest.h>

#include "tests/estimator/memory/asked.h"
#include "tests/support/conv_shape.h"

using namespace plimsoll;

TEST_CASE("workspace formulas: 64 to 64 channels at 56x56, as cuDNN answers for a TITAN Xp") {
  const auto bytes = [&](int engine, int tile) {
    return workspace_bytes({.engine = engine, .tile = tile}, Pass::kForward, test::kThreeByThree,
                           DType::kFloat32);
  };
  CHECK(bytes(12, -1) == 409856);
  CHECK(bytes(34, 1) == 18944);
  CHECK(bytes(42, 1) == 24383);
  CHECK(bytes(42, 2) == 27519);
  CHECK(bytes(1, 4) == 2304);
  CHECK(bytes(28, 4) == 0);
  CHECK(bytes(2, 4) == 231211008);
  CHECK(!bytes(999, 0));
}

TEST_CASE("workspace formulas: every plan without tensor cores, to the byte") {
  for (const int capability : {61, 70, 75, 80, 86, 90}) {
    int plans = 0, known = 0;
    for (const auto& asked : test::read_asked(capability)) {
      const auto shape = conv_shape(asked.problem);
      REQUIRE(shape.has_value());
      for (const auto& plan : asked.plans) {
        if (plan.tensor_core) continue;
        const auto bytes = workspace_bytes({.engine = plan.engine, .tile = plan.tile}, asked.pass,
                                           *shape, DType::kFloat32);
        ++plans;
        if (!bytes) continue;
        ++known;
        CAPTURE(asked.text);
        CAPTURE(plan.engine);
        CHECK(*bytes == plan.bytes);
      }
    }
    CHECK(plans > 100);
    // Only Hopper has many engines without a formula.
    if (capability <= 75) CHECK(known == plans);
    if (capability < 90) CHECK(known >= plans * 9 / 10);
  }
}

TEST_CASE("workspace formulas: shapes that cuDNN's 2-D engines do not take") {
  ConvProblem<int64_t> c{.n = 1, .c = 4, .k = 4, .in = {1, 8, 8}, .out = {1, 8, 8}};
  CHECK(conv_shape(c).has_value());
  c.in[0] = c.out[0] = 3;
  CHECK(!conv_shape(c));
  c.in[0] = c.out[0] = 1;
  c.groups = 3;
  CHECK(!conv_shape(c));
  c.groups = 1;
  c.n = int64_t{1} << 31;
  CHECK(!conv_shape(c));
}
