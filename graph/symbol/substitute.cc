#include "graph/symbol/substitute.h"

namespace plimsoll {
namespace {

Dim substituted(const Dim::AtomPtr& atom, std::string_view symbol, const Dim& by) {
  if (atom->kind == AtomKind::kSymbol) return atom->name == symbol ? by : Dim::symbol(atom->name);
  const Dim left = substitute(atom->left, symbol, by);
  const Dim right = substitute(atom->right, symbol, by);
  switch (atom->kind) {
    case AtomKind::kFloorDiv:
      return floor_div(left, right);
    case AtomKind::kCeilDiv:
      return ceil_div(left, right);
    case AtomKind::kMax:
      return max(left, right);
    default:
      return min(left, right);
  }
}

}  // namespace

Dim substitute(const Dim& in, std::string_view symbol, const Dim& by) {
  if (in.is_constant() || in.overflowed()) return in;
  Dim sum = in.constant_term();
  for (const Dim::Term& term : in.terms()) {
    Dim product = term.coefficient;
    for (const Dim::AtomPtr& atom : term.factors()) product *= substituted(atom, symbol, by);
    sum += product;
  }
  return sum;
}

Shape substitute(Shape in, std::string_view symbol, const Dim& by) {
  for (Dim& extent : in) extent = substitute(extent, symbol, by);
  return in;
}

}  // namespace plimsoll
