#include "graph/symbol/substitute.h"

#include <doctest/doctest.h>

namespace plimsoll {

TEST_CASE("substitute: a symbol stands for another size, wherever it is") {
  const Dim s = Dim::symbol("s"), b = Dim::symbol("b");
  CHECK(substitute(s * Dim(2) + 1, "s", Dim(4)) == Dim(9));
  CHECK(substitute(s * s * b + b, "s", b) == b * b * b + b);
  CHECK(substitute(b, "s", Dim(4)) == b);
  CHECK(substitute(Dim(7), "s", Dim(4)) == Dim(7));
  CHECK(substitute(floor_div(s + 3, b), "s", Dim(4)) == floor_div(Dim(7), b));
  CHECK(substitute(ceil_div(s, Dim(8)), "s", Dim(9)) == Dim(2));
  CHECK(substitute(max(s, b), "s", b * Dim(2)) == max(b * Dim(2), b));
  CHECK(substitute(min(s, b), "s", Dim(1)) == Dim(1));
  CHECK(substitute(Shape{b, s}, "s", floor_div(s, 2)) == Shape{b, floor_div(s, 2)});
}

}  // namespace plimsoll
