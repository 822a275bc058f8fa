// Dim's laws, over all small polynomials and what divisions and extrema make of them.
#include "graph/symbol/dim.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "graph/base/checked.h"

namespace plimsoll {
namespace {

// A polynomial of degree 3 at most in each symbol is told from any other by its values here.
constexpr int64_t kSide = 4;

std::vector<Binding> all_points() {
  std::vector<Binding> points;
  for (int64_t a = 1; a <= kSide; ++a) {
    for (int64_t b = 1; b <= kSide; ++b) points.push_back({{"a", a}, {"b", b}});
  }
  return points;
}

// A Dim, and what plain integers make of the same formula at each point; nothing where a divisor
// is not positive.
struct Sample {
  Dim dim;
  std::vector<std::optional<int64_t>> values;
};

struct Operation {
  const char* name;
  Dim (*of_dims)(const Dim&, const Dim&);
  int64_t (*of_integers)(int64_t, int64_t);
  bool divides = false;
};

constexpr std::array kOperations = {
    Operation{"+", [](const Dim& x, const Dim& y) { return x + y; },
              [](int64_t x, int64_t y) { return x + y; }},
    Operation{"-", [](const Dim& x, const Dim& y) { return x - y; },
              [](int64_t x, int64_t y) { return x - y; }},
    Operation{"*", [](const Dim& x, const Dim& y) { return x * y; },
              [](int64_t x, int64_t y) { return x * y; }},
    Operation{"max", max, [](int64_t x, int64_t y) { return std::max(x, y); }},
    Operation{"min", min, [](int64_t x, int64_t y) { return std::min(x, y); }},
    Operation{"floor", floor_div, floor_divide, true},
    Operation{"ceil", ceil_div, ceil_divide, true},
};

Sample apply(const Operation& operation, const Sample& x, const Sample& y) {
  Sample result{operation.of_dims(x.dim, y.dim), {}};
  for (size_t p = 0; p < x.values.size(); ++p) {
    const auto& left = x.values[p];
    const auto& right = y.values[p];
    const bool defined = left && right && (!operation.divides || *right > 0);
    result.values.push_back(defined ? std::optional(operation.of_integers(*left, *right))
                                    : std::nullopt);
  }
  return result;
}

// c0 + c1*a + c2*b + c3*a*b for all of -1, 0 and 2.
std::vector<Sample> polynomials() {
  const Dim a = Dim::symbol("a"), b = Dim::symbol("b");
  constexpr std::array<int64_t, 3> kCoefficients = {-1, 0, 2};
  std::vector<Sample> found;
  for (const int64_t c0 : kCoefficients) {
    for (const int64_t c1 : kCoefficients) {
      for (const int64_t c2 : kCoefficients) {
        for (const int64_t c3 : kCoefficients) {
          Sample sample{a * c1 + b * c2 + a * b * c3 + c0, {}};
          for (const Binding& at : all_points()) {
            const int64_t x = at.at("a"), y = at.at("b");
            sample.values.emplace_back(c0 + c1 * x + c2 * y + c3 * x * y);
          }
          found.push_back(std::move(sample));
        }
      }
    }
  }
  return found;
}

// What a division or extremum makes of each pair, one in `stride`.
std::vector<Sample> nested(const std::vector<Sample>& of, size_t stride) {
  std::vector<Sample> found;
  size_t turn = 0;
  for (const Operation& operation : kOperations) {
    for (const Sample& x : of) {
      for (const Sample& y : of) {
        if (turn++ % stride == 0) found.push_back(apply(operation, x, y));
      }
    }
  }
  return found;
}

// A fault in words, or nothing: values at all points are the integers', and bounds hold.
std::string fault_of(const Sample& sample, const std::vector<Binding>& points) {
  const auto low = lower_bound(sample.dim), high = upper_bound(sample.dim);
  for (size_t p = 0; p < points.size(); ++p) {
    if (!sample.values[p]) continue;  // a simpler form may have a value here
    const auto value = sample.dim.evaluate(points[p]);
    if (!value || *value != *sample.values[p]) return "another value";
    if (low && *low > *value) return "below its bound";
    if (high && *high < *value) return "above its bound";
  }
  return "";
}

// What was decided for all bindings holds at each.
bool holds(std::optional<bool> decided, const Sample& x, const Sample& y,
           bool (*relation)(int64_t, int64_t)) {
  if (!decided) return true;
  for (size_t p = 0; p < x.values.size(); ++p) {
    if (x.values[p] && y.values[p] && relation(*x.values[p], *y.values[p]) != *decided)
      return false;
  }
  return true;
}

}  // namespace

TEST_CASE("dim: every operation on all pairs of small polynomials is that of integers") {
  const std::vector<Binding> points = all_points();
  const std::vector<Sample> all = polynomials();
  for (const Operation& operation : kOperations) {
    for (const Sample& x : all) {
      for (const Sample& y : all) {
        const Sample result = apply(operation, x, y);
        const std::string fault = fault_of(result, points);
        CHECK_MESSAGE(fault.empty(), operation.name, " of ", x.dim.text(), " and ", y.dim.text(),
                      ": ", fault);
      }
    }
  }
}

TEST_CASE("dim: divisions and extrema inside each other too") {
  const std::vector<Binding> points = all_points();
  const std::vector<Sample> inner = nested(polynomials(), 211);
  REQUIRE(inner.size() > 200);
  for (const Sample& outer : nested(inner, 17)) {
    const std::string fault = fault_of(outer, points);
    CHECK_MESSAGE(fault.empty(), outer.dim.text(), ": ", fault);
  }
}

TEST_CASE("dim: a formula of constants is the value that the symbols' formula has there") {
  for (const Operation& operation : kOperations) {
    for (int64_t x = -7; x <= 7; ++x) {
      for (int64_t y = -7; y <= 7; ++y) {
        if (operation.divides && y <= 0) continue;
        const auto constant = operation.of_dims(Dim(x), Dim(y)).constant();
        CHECK_MESSAGE(constant == operation.of_integers(x, y), operation.name, " ", x, " ", y);
      }
    }
  }
}

TEST_CASE("dim: a commutative ring") {
  std::vector<Sample> all = nested(polynomials(), 2503);
  REQUIRE(all.size() > 15);
  for (const Sample& each : all) {
    const Dim& x = each.dim;
    if (x.overflowed()) continue;
    CAPTURE(x.text());
    CHECK(x + 0 == x);
    CHECK(x * 1 == x);
    CHECK(x * 0 == Dim(0));
    CHECK(x - x == Dim(0));
    for (const Sample& second : all) {
      const Dim& y = second.dim;
      if (y.overflowed()) continue;
      CHECK(x + y == y + x);
      CHECK(x * y == y * x);
      CHECK(x - y == x + y * -1);
      CHECK(max(x, y) == max(y, x));
      CHECK(min(x, y) == min(y, x));
      for (const Sample& third : all) {
        const Dim& z = third.dim;
        if (z.overflowed()) continue;
        const bool ring = (x + y) + z == x + (y + z) && (x * y) * z == x * (y * z) &&
                          x * (y + z) == x * y + x * z;
        CHECK_MESSAGE(ring, x.text(), ", ", y.text(), ", ", z.text());
      }
    }
  }
}

TEST_CASE("dim: polynomials of the same values are the same object") {
  std::map<std::vector<std::optional<int64_t>>, Dim> known;
  const std::vector<Sample> all = polynomials();
  for (const Operation& operation : std::span(kOperations).first(3)) {
    for (const Sample& x : all) {
      for (const Sample& y : all) {
        const Sample result = apply(operation, x, y);
        const auto at = known.emplace(result.values, result.dim).first;
        CHECK_MESSAGE(at->second == result.dim, at->second.text(), " and ", result.dim.text());
      }
    }
  }
  std::map<Dim, int, StructureOrder> distinct;
  for (const auto& one : known) ++distinct[one.second];
  CHECK(distinct.size() == known.size());
}

TEST_CASE("dim: roundings of one value have one form") {
  for (const Sample& x : polynomials()) {
    for (const int64_t d : {2, 3, 7}) {
      CAPTURE(x.dim.text());
      CHECK(ceil_div(x.dim, d) == floor_div(x.dim + (d - 1), d));
      for (int64_t whole = -2; whole <= 2; ++whole)
        CHECK(floor_div(x.dim + whole * d, d) == floor_div(x.dim, d) + whole);
    }
  }
  const Dim a = Dim::symbol("a");
  CHECK(floor_div(floor_div(a + 3, 2), 3) == floor_div(a + 3, 6));
  CHECK(ceil_div(ceil_div(a, 2), 2) == ceil_div(a, 4));
}

TEST_CASE("dim: an exact division undoes a multiplication") {
  const std::vector<Sample> all = polynomials();
  for (const Sample& x : all) {
    for (const Sample& y : all) {
      if (y.dim == Dim(0)) continue;
      const auto quotient = divide_exactly(x.dim * y.dim, y.dim);
      CHECK_MESSAGE((quotient && *quotient == x.dim), x.dim.text(), " times ", y.dim.text());
    }
  }
  const Dim a = Dim::symbol("a"), b = Dim::symbol("b");
  CHECK_FALSE(divide_exactly(a + 1, Dim(2)));
  CHECK_FALSE(divide_exactly(a * b + 1, a));
  CHECK_FALSE(divide_exactly(a, a * b));
  CHECK_FALSE(divide_exactly(a, Dim(0)));
  CHECK_FALSE(divide_exactly(Dim(INT64_MIN), Dim(-1)));
  CHECK_FALSE(divide_exactly(a * INT64_MIN, b * -1));
}

TEST_CASE("dim: what is decided for all bindings holds at each") {
  const std::vector<Sample> all = nested(polynomials(), 701);
  size_t decided = 0;
  for (const Sample& x : all) {
    for (const Sample& y : all) {
      const auto equal = always_equal(x.dim, y.dim);
      const auto at_most = always_at_most(x.dim, y.dim);
      decided += equal || at_most;
      CHECK_MESSAGE(holds(equal, x, y, [](int64_t l, int64_t r) { return l == r; }), x.dim.text(),
                    " = ", y.dim.text());
      CHECK_MESSAGE(holds(at_most, x, y, [](int64_t l, int64_t r) { return l <= r; }), x.dim.text(),
                    " <= ", y.dim.text());
    }
  }
  CHECK(decided > all.size());
}

TEST_CASE("dim: what leaves 64 bits stays out of them") {
  const Dim a = Dim::symbol("a");
  for (const Dim& d : {Dim(INT64_MAX) + 1, Dim(INT64_MIN) - 1, a * INT64_MAX * 2, floor_div(a, 0),
                       (a * INT64_MAX + a) - a}) {
    CHECK(d.overflowed());
    CHECK_FALSE(d == d);
    CHECK((d * 0).overflowed());
    CHECK((d - d).overflowed());
    CHECK(max(d, Dim(1)).overflowed());
    const auto value = d.evaluate({{"a", 1}});
    REQUIRE_FALSE(value);
    CHECK(value.error().front().code == "E232");
  }
  CHECK(a.evaluate({}).error().front().code == "E131");
  CHECK((a * a).evaluate({{"a", int64_t{1} << 40}}).error().front().code == "E232");
}

TEST_CASE("decider: algebra needs no guard, a hint leaves one for each question") {
  const Dim a = Dim::symbol("a"), b = Dim::symbol("b");
  Decider decider({{"a", 4}, {"b", 2}});
  CHECK(decider.equal(a + b, b + a));
  CHECK(decider.at_most(a, a * b + a));
  CHECK(decider.less(a, a + b));
  CHECK_FALSE(decider.is_one(a + 1));
  CHECK(decider.guards().empty());
  for (int turn = 0; turn < 2; ++turn) {
    CHECK(decider.equal(a, b * 2));
    CHECK_FALSE(decider.at_most(a, b));
  }
  REQUIRE(decider.guards().size() == 2);
  CHECK(decider.guards()[0].holds);
  CHECK(decider.guards()[0].expression == a - b * 2);
  CHECK_FALSE(decider.guards()[1].holds);
  Decider again({{"a", 4}, {"b", 2}}, decider.guards());
  CHECK(again.equal(a, b * 2));
  CHECK(again.guards().size() == 2);
}

}  // namespace plimsoll
