#include "graph/symbol/tape.h"

#include <doctest/doctest.h>

#include <span>
#include <vector>

using namespace plimsoll;

TEST_CASE("tape: every Dim's value at every point") {
  const Dim batch = Dim::symbol("batch"), height = Dim::symbol("height");
  const Dim half = floor_div(height + 3, Dim(2)), quarter = ceil_div(half, Dim(2));
  const std::vector<Dim> dims = {
      Dim(7),
      batch,
      batch * half * half * 4 + batch * 5 - 3,
      max(batch * height, Dim(1000)) + min(quarter, batch),
      batch * ceil_div(floor_div(height + 3, Dim(2)), Dim(2)) * batch,
      floor_div(batch * height, half + batch),
      Dim(0) - batch,
  };
  Tape tape;
  std::vector<Tape::Slot> slots;
  for (const Dim& d : dims) slots.push_back(tape.add(d));
  std::vector<Binding> points;
  for (const int64_t n : {1, 2, 100}) {
    for (const int64_t h : {1, 13, 224}) points.push_back({{"batch", n}, {"height", h}});
  }
  // One, all, one and none: a run forgets the last.
  const std::span<const Binding> all = points;
  for (const auto run : {all.first(1), all, all.last(1), all.first(0)}) {
    REQUIRE(tape.run(run));
    for (size_t i = 0; i < dims.size(); ++i) {
      CAPTURE(dims[i].text());
      const auto value = tape[slots[i]];
      REQUIRE(value.size() == run.size());
      for (size_t p = 0; p < run.size(); ++p) CHECK(value[p] == dims[i].evaluate(run[p]).value());
    }
  }
}

TEST_CASE("tape: fails where one of its Dims does") {
  const Dim batch = Dim::symbol("batch"), n = Dim::symbol("n");
  const int64_t huge = int64_t{1} << 40;
  for (const Dim& d : {batch * n * n, floor_div(batch, n - huge) + n, max(n * n, Dim(3)),
                       Dim(INT64_MAX) * 2, batch + (n * n - 1)}) {
    CAPTURE(d.text());
    Tape tape;
    tape.add(batch);
    tape.add(d);
    for (const Binding& binding :
         {Binding{{"batch", 3}, {"n", huge}}, Binding{{"batch", 3}, {"n", huge + 2}},
          Binding{{"n", 3}}, Binding{{"batch", 3}, {"n", 2}}}) {
      CAPTURE(binding.size());
      const bool both = d.evaluate(binding) && batch.evaluate(binding);
      CHECK(tape.run({&binding, 1}) == both);
      // Among others.
      for (const int64_t other : {int64_t{1}, huge + 1}) {
        const std::vector<Binding> points = {{{"batch", 3}, {"n", other}}, binding};
        CHECK(tape.run(points) == (both && d.evaluate(points[0])));
      }
    }
  }
}
