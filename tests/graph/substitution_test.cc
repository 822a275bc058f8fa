#include "graph/substitution.h"

#include <doctest/doctest.h>

using namespace plimsoll;

TEST_CASE("substitution: what is left speaks of the other symbols alone, and has the same values") {
  const Dim batch = Dim::symbol("batch"), height = Dim::symbol("height");
  const Dim half = floor_div(height + 3, Dim(2));
  const Dim bytes = batch * half * half * 4 + max(batch * height, Dim(1000)) + 7;
  const Dim left = substitute(bytes, {{"height", 13}});
  CHECK(left == batch * 256 + max(batch * 13, Dim(1000)) + 7);
  for (const int64_t n : {1, 2, 100}) {
    CHECK(left.evaluate({{"batch", n}}).value() ==
          bytes.evaluate({{"batch", n}, {"height", 13}}).value());
  }
  CHECK(substitute(bytes, {{"batch", 2}, {"height", 13}}) == Dim(2 * 256 + 1000 + 7));
  CHECK(substitute(bytes, {}) == bytes);
}

TEST_CASE("substitution: a Dim that fails does so where it is evaluated, with the same words") {
  const Dim batch = Dim::symbol("batch"), n = Dim::symbol("n");
  const Binding fixed = {{"n", int64_t{1} << 40}};
  const Binding all = {{"batch", 3}, {"n", int64_t{1} << 40}};
  for (const Dim& d : {batch * n * n, floor_div(batch, n - (int64_t{1} << 40)) + n}) {
    const auto before = d.evaluate(all), after = substitute(d, fixed).evaluate(all);
    REQUIRE_FALSE(before);
    REQUIRE_FALSE(after);
    CHECK(before.error().front().code == after.error().front().code);
    CHECK(before.error().front().message == after.error().front().message);
  }
}

TEST_CASE("substitution: in a step, sizes, work and guards") {
  const Dim batch = Dim::symbol("batch"), n = Dim::symbol("n");
  Step step;
  step.buffers.push_back({.bytes = batch * n});
  step.kernels.push_back(
      {.op = "conv", .flop = n * n, .problem = ConvProblem<Dim>{.n = batch, .in = {1, n, n}}});
  step.guards.push_back({.expression = batch - n});
  const Step filled = substitute(step, {{"n", 5}});
  CHECK(filled.buffers[0].bytes == batch * 5);
  CHECK(filled.kernels[0].flop == Dim(25));
  CHECK(std::get<ConvProblem<Dim>>(filled.kernels[0].problem) ==
        ConvProblem<Dim>{.n = batch, .in = {1, 5, 5}});
  CHECK(filled.guards[0].expression == batch - 5);
}
