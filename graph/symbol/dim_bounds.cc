// What holds for every binding of a Dim's symbols, and the Decider, which asks a hint where nothing
// does.
#include <algorithm>
#include <limits>

#include "graph/base/checked.h"
#include "graph/symbol/dim.h"

namespace plimsoll {
namespace {

std::optional<int64_t> bound(const Dim& a, bool lower);

std::optional<int64_t> atom_bound(const Dim::Atom& atom, bool lower) {
  switch (atom.kind) {
    case AtomKind::kSymbol:
      if (lower) return 1;
      return std::nullopt;
    case AtomKind::kFloorDiv:
    case AtomKind::kCeilDiv: {
      if (!atom.right.is_constant()) {
        const auto l = bound(atom.left, true);
        const auto r = bound(atom.right, true);
        if (lower && l && *l >= 0 && r && *r > 0) return 0;
        return std::nullopt;
      }
      const auto inside = bound(atom.left, lower);
      if (!inside) return std::nullopt;
      return atom.kind == AtomKind::kFloorDiv ? floor_divide(*inside, atom.right.constant_term())
                                              : ceil_divide(*inside, atom.right.constant_term());
    }
    case AtomKind::kMax:
    case AtomKind::kMin: {
      const auto l = bound(atom.left, lower);
      const auto r = bound(atom.right, lower);
      // A max is at least any known part; a min at most any known part.
      if ((atom.kind == AtomKind::kMax) == lower) {
        if (l && r) return atom.kind == AtomKind::kMax ? std::max(*l, *r) : std::min(*l, *r);
        return l ? l : r;
      }
      if (!l || !r) return std::nullopt;
      return atom.kind == AtomKind::kMax ? std::max(*l, *r) : std::min(*l, *r);
    }
  }
  return std::nullopt;
}

// Interval arithmetic over non-negative atoms; a product with an unbounded or negative part gives
// up.
std::optional<int64_t> bound(const Dim& a, bool lower) {
  if (a.overflowed()) return std::nullopt;
  int64_t sum = a.constant_term();
  for (const Dim::Term& t : a.terms()) {
    const bool want_lower = (t.coefficient > 0) == lower;
    int64_t product = t.coefficient;
    for (const Dim::AtomPtr& f : t.factors()) {
      const auto floor = atom_bound(*f, true);
      if (!floor || *floor < 0) return std::nullopt;
      const auto b = want_lower ? floor : atom_bound(*f, false);
      if (!b) return std::nullopt;
      const auto p = checked_multiply(product, *b);
      if (!p) return std::nullopt;
      product = *p;
    }
    const auto s = checked_add(sum, product);
    if (!s) return std::nullopt;
    sum = *s;
  }
  return sum;
}

}  // namespace

std::optional<int64_t> lower_bound(const Dim& a) { return bound(a, true); }
std::optional<int64_t> upper_bound(const Dim& a) { return bound(a, false); }

std::optional<bool> always_equal(const Dim& a, const Dim& b) {
  if (a == b) return true;
  const Dim difference = a - b;
  if (difference.overflowed()) return std::nullopt;
  if (difference.is_constant()) return difference.constant_term() == 0;
  const auto low = lower_bound(difference);
  const auto high = upper_bound(difference);
  if ((low && *low > 0) || (high && *high < 0)) return false;
  return std::nullopt;
}

std::optional<bool> always_at_most(const Dim& a, const Dim& b) {
  const Dim difference = b - a;
  if (difference.overflowed()) return std::nullopt;
  const auto low = lower_bound(difference);
  if (low && *low >= 0) return true;
  const auto high = upper_bound(difference);
  if (high && *high < 0) return false;
  return std::nullopt;
}

Decider::Decider(Binding hints, std::vector<Guard> taken)
    : hints_(std::move(hints)), guards_(std::move(taken)) {
  for (const Guard& guard : guards_) {
    auto& asked = guard.kind == Guard::Kind::kZero ? zero_ : not_negative_;
    asked.emplace(guard.expression, guard.holds);
  }
}

bool Decider::decide(Guard::Kind kind, const Dim& expression) {
  auto& asked = kind == Guard::Kind::kZero ? zero_ : not_negative_;
  if (const auto known = asked.find(expression); known != asked.end()) return known->second;
  const auto value = expression.evaluate(hints_);
  // An unbound or overflowing expression is reported where the Dim itself is evaluated.
  const bool holds = value && (kind == Guard::Kind::kZero ? *value == 0 : *value >= 0);
  guards_.push_back({kind, expression, holds});
  asked.emplace(expression, holds);
  return holds;
}

bool Decider::equal(const Dim& a, const Dim& b) {
  if (const auto known = always_equal(a, b)) return *known;
  return decide(Guard::Kind::kZero, a - b);
}

bool Decider::at_most(const Dim& a, const Dim& b) {
  if (const auto known = always_at_most(a, b)) return *known;
  return decide(Guard::Kind::kNotNegative, b - a);
}

}  // namespace plimsoll
