#include "graph/exporter/position_tables.h"

#include <doctest/doctest.h>

#include "tests/support/recovered.h"

namespace plimsoll {
namespace {

// "1024 for B + 2" of the table that a node reads with this index.
std::string bound(const std::string& index, const std::string& table = "f32[1024,8]") {
  const Graph graph =
      test::inferred("opset 17\ninput ids: i64[B]\nparam wpe: " + table +
                     "\nconst zero: i64[] = [0]\nconst one: i64[] = [1]\nconst two: i64[] = [2]\n"
                     "const axis: i64[1] = [0]\nconst first: i64[] = [0]\ns = Shape(ids)\n"
                     "n = Gather(s, first)\nat = Range(zero, n, one)\n" +
                     index + "\ny = Gather(wpe, i)\noutput y\n");
  const auto tables = position_tables(graph);
  if (tables.empty()) return "none";
  REQUIRE(tables.size() == 1);
  return tables[0].rows.text() + " for " + tables[0].positions.text();
}

}  // namespace

TEST_CASE("a table that positions are looked up in says how many there may be") {
  CHECK(bound("i = Unsqueeze(at, axis)") == "1024 for B");
  CHECK(bound("i = Cast(at) {to=6}") == "1024 for B");
  CHECK(bound("i = Add(at, two)") == "1024 for B + 2");
  CHECK(bound("param places: i64[S]\ni = Identity(places)") == "1024 for S");
  CHECK(bound("param places: i64[16]\ni = Identity(places)") == "none");
  // What an index is made of beyond that, nobody knows: distances, clipped, and tokens.
  CHECK(bound("i = Mul(at, two)") == "none");
  CHECK(bound("i = Min(at, two)") == "none");
  CHECK(bound("i = Identity(ids)") == "none");
  CHECK(bound("i = Identity(at)", "f32[1024]") == "none");
}

}  // namespace plimsoll
