#include "graph/symbol/dim.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "graph/base/checked.h"

namespace plimsoll {
namespace {

using Term = Dim::Term;
using AtomPtr = Dim::AtomPtr;

int compare_atoms(const AtomPtr& a, const AtomPtr& b) {
  if (a == b) return 0;
  if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
  if (a->kind == AtomKind::kSymbol) return a->name.compare(b->name);
  if (const int left = compare_structure(a->left, b->left)) return left;
  return compare_structure(a->right, b->right);
}

int compare_factors(const std::vector<AtomPtr>& a, const std::vector<AtomPtr>& b) {
  if (a.size() != b.size()) return a.size() > b.size() ? -1 : 1;  // higher degree first
  for (size_t i = 0; i < a.size(); ++i) {
    if (const int order = compare_atoms(a[i], b[i])) return order;
  }
  return 0;
}

constexpr size_t kMostTerms = 4096;  // beyond it, no model we know of: treated as overflow

}  // namespace

// Builds canonical Dims. The one place that sees their inside.
struct DimBuilder {
  static Dim overflow() {
    Dim d;
    d.overflowed_ = true;
    return d;
  }

  static Dim make(int64_t constant, std::vector<Term> terms) {
    if (terms.size() > kMostTerms) return overflow();
    Dim d(constant);
    if (!terms.empty()) d.terms_ = std::make_shared<const std::vector<Term>>(std::move(terms));
    return d;
  }

  static Dim atom(AtomKind kind, Dim left, Dim right) {
    if (left.overflowed_ || right.overflowed_) return overflow();
    auto a = std::make_shared<Dim::Atom>();
    a->kind = kind;
    a->left = std::move(left);
    a->right = std::move(right);
    return make(0, {{1, {std::move(a)}}});
  }

  // a + sign*b by merging two sorted lists.
  static Dim add(const Dim& a, const Dim& b, int64_t sign) {
    if (a.overflowed_ || b.overflowed_) return overflow();
    const auto scaled = checked_multiply(b.constant_, sign);
    const auto constant = scaled ? checked_add(a.constant_, *scaled) : std::nullopt;
    if (!constant) return overflow();
    if (!a.terms_ && !b.terms_) return Dim(*constant);
    if (!b.terms_) {
      Dim d = a;
      d.constant_ = *constant;
      return d;
    }
    std::vector<Term> terms;
    const auto& x = a.terms();
    const auto& y = b.terms();
    terms.reserve(x.size() + y.size());
    for (size_t i = 0, j = 0; i < x.size() || j < y.size();) {
      const int order = i == x.size()   ? 1
                        : j == y.size() ? -1
                                        : compare_factors(x[i].factors, y[j].factors);
      if (order < 0) {
        terms.push_back(x[i++]);
        continue;
      }
      const auto c = checked_multiply(y[j].coefficient, sign);
      const auto sum = !c ? c : order > 0 ? c : checked_add(x[i].coefficient, *c);
      if (!sum) return overflow();
      if (*sum != 0) terms.push_back({*sum, y[j].factors});
      if (order == 0) ++i;
      ++j;
    }
    return make(*constant, std::move(terms));
  }

  static Dim scale(const Dim& a, int64_t factor) {
    if (a.overflowed_) return overflow();
    if (factor == 1) return a;
    if (factor == 0) return {};
    const auto constant = checked_multiply(a.constant_, factor);
    if (!constant) return overflow();
    std::vector<Term> terms = a.terms();
    for (Term& t : terms) {
      const auto c = checked_multiply(t.coefficient, factor);
      if (!c) return overflow();
      t.coefficient = *c;
    }
    return make(*constant, std::move(terms));
  }

  static Dim multiply_term(const Dim& a, const Term& t) {
    std::vector<Term> terms;
    terms.reserve(a.terms().size() + 1);
    const auto push = [&](int64_t coefficient, const std::vector<AtomPtr>& factors) {
      const auto c = checked_multiply(coefficient, t.coefficient);
      if (!c) return false;
      Term product{*c, {}};
      product.factors.resize(factors.size() + t.factors.size());
      std::merge(factors.begin(), factors.end(), t.factors.begin(), t.factors.end(),
                 product.factors.begin(),
                 [](const AtomPtr& x, const AtomPtr& y) { return compare_atoms(x, y) < 0; });
      terms.push_back(std::move(product));
      return true;
    };
    for (const Term& x : a.terms()) {
      if (!push(x.coefficient, x.factors)) return overflow();
    }
    if (a.constant_ != 0 && !push(a.constant_, {})) return overflow();
    std::sort(terms.begin(), terms.end(), [](const Term& x, const Term& y) {
      return compare_factors(x.factors, y.factors) < 0;
    });
    return make(0, std::move(terms));
  }
};

Dim Dim::symbol(std::string name) {
  auto a = std::make_shared<Atom>();
  a->name = std::move(name);
  return DimBuilder::make(0, {{1, {std::move(a)}}});
}

std::optional<int64_t> Dim::constant() const {
  if (!is_constant()) return std::nullopt;
  return constant_;
}

const std::vector<Dim::Term>& Dim::terms() const {
  static const std::vector<Term> kNone;
  return terms_ ? *terms_ : kNone;
}

Dim operator+(const Dim& a, const Dim& b) { return DimBuilder::add(a, b, 1); }
Dim operator-(const Dim& a, const Dim& b) { return DimBuilder::add(a, b, -1); }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.overflowed_ || b.overflowed_) return DimBuilder::overflow();
  if (!b.terms_) return DimBuilder::scale(a, b.constant_);
  if (!a.terms_) return DimBuilder::scale(b, a.constant_);
  Dim sum = DimBuilder::scale(a, b.constant_);
  for (const Dim::Term& t : b.terms()) sum += DimBuilder::multiply_term(a, t);
  return sum;
}

int compare_structure(const Dim& a, const Dim& b) {
  if (a.overflowed() != b.overflowed()) return a.overflowed() ? -1 : 1;
  if (a.constant_term() != b.constant_term()) {
    return a.constant_term() < b.constant_term() ? -1 : 1;
  }
  const auto& x = a.terms();
  const auto& y = b.terms();
  if (&x == &y) return 0;
  if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i].coefficient != y[i].coefficient) return x[i].coefficient < y[i].coefficient ? -1 : 1;
    if (const int order = compare_factors(x[i].factors, y[i].factors)) return order;
  }
  return 0;
}

// An overflowed Dim equals nothing, not even itself.
bool operator==(const Dim& a, const Dim& b) {
  return !a.overflowed_ && !b.overflowed_ && compare_structure(a, b) == 0;
}

std::optional<Dim> divide_exactly(const Dim& a, const Dim& b) {
  if (a.overflowed() || b.overflowed()) return std::nullopt;
  if (a == b) return Dim(1);
  if (b.is_constant()) {
    const int64_t d = b.constant_term();
    const auto constant = checked_divide(a.constant_term(), d);
    if (!constant) return std::nullopt;
    std::vector<Term> terms = a.terms();
    for (Term& t : terms) {
      const auto coefficient = checked_divide(t.coefficient, d);
      if (!coefficient) return std::nullopt;
      t.coefficient = *coefficient;
    }
    return DimBuilder::make(*constant, std::move(terms));
  }
  // Long division by the leading term; both lists are sorted by degree, so it terminates.
  Dim rest = a;
  Dim quotient;
  const Term& lead = b.terms().front();
  for (size_t guard = 0; guard < 64; ++guard) {
    if (rest == Dim(0)) return quotient;
    if (rest.is_constant()) return std::nullopt;
    const Term& t = rest.terms().front();
    const auto coefficient = checked_divide(t.coefficient, lead.coefficient);
    if (!coefficient) return std::nullopt;
    Term q{*coefficient, {}};
    std::set_difference(t.factors.begin(), t.factors.end(), lead.factors.begin(),
                        lead.factors.end(), std::back_inserter(q.factors),
                        [](const AtomPtr& x, const AtomPtr& y) { return compare_atoms(x, y) < 0; });
    if (q.factors.size() + lead.factors.size() != t.factors.size()) return std::nullopt;
    const Dim part = q.factors.empty() ? Dim(q.coefficient) : DimBuilder::make(0, {q});
    quotient += part;
    rest -= part * b;
    if (rest.overflowed() || quotient.overflowed()) return std::nullopt;
  }
  return std::nullopt;
}

namespace {

// Splits a = d*whole + rest, where rest keeps the coefficients d does not divide.
std::pair<Dim, Dim> split_multiples(const Dim& a, int64_t d) {
  std::vector<Term> whole, rest;
  for (const Term& t : a.terms()) {
    if (t.coefficient % d == 0) {
      whole.push_back({t.coefficient / d, t.factors});
    } else {
      rest.push_back(t);
    }
  }
  const int64_t q = floor_divide(a.constant_term(), d);
  return {DimBuilder::make(q, std::move(whole)),
          DimBuilder::make(a.constant_term() - q * d, std::move(rest))};
}

Dim divide(AtomKind kind, const Dim& a, const Dim& b) {
  if (a.overflowed() || b.overflowed()) return DimBuilder::overflow();
  if (const auto exact = divide_exactly(a, b)) return *exact;
  if (!b.is_constant()) return DimBuilder::atom(kind, a, b);
  const int64_t d = b.constant_term();
  if (d <= 0) return DimBuilder::overflow();
  if (a.is_constant()) {
    return kind == AtomKind::kFloorDiv ? floor_divide(a.constant_term(), d)
                                       : ceil_divide(a.constant_term(), d);
  }
  // floor((d*w + r)/d) = w + floor(r/d); one form for both roundings: ceil(r/d) = floor((r+d-1)/d).
  const auto shifted = kind == AtomKind::kCeilDiv ? a + Dim(d - 1) : a;
  if (shifted.overflowed()) return DimBuilder::overflow();
  auto [whole, rest] = split_multiples(shifted, d);
  if (rest.is_constant()) return whole + Dim(floor_divide(rest.constant_term(), d));
  // floor((floor(x/p) + c)/d) = floor((x + c*p)/(p*d))
  if (const Term& t = rest.terms().front();
      rest.terms().size() == 1 && t.coefficient == 1 && t.factors.size() == 1 &&
      t.factors[0]->kind == AtomKind::kFloorDiv && t.factors[0]->right.is_constant()) {
    const Dim& p = t.factors[0]->right;
    const Dim inside = t.factors[0]->left + p * rest.constant_term(), product = p * d;
    if (!inside.overflowed() && !product.overflowed())
      return whole + divide(AtomKind::kFloorDiv, inside, product);
  }
  return whole + DimBuilder::atom(AtomKind::kFloorDiv, rest, b);
}

Dim extremum(AtomKind kind, const Dim& a, const Dim& b) {
  if (a.overflowed() || b.overflowed()) return DimBuilder::overflow();
  if (a == b) return a;
  if (const auto below = always_at_most(a, b)) {
    return *below == (kind == AtomKind::kMax) ? b : a;
  }
  if (const auto below = always_at_most(b, a)) {
    return *below == (kind == AtomKind::kMax) ? a : b;
  }
  return compare_structure(a, b) < 0 ? DimBuilder::atom(kind, a, b) : DimBuilder::atom(kind, b, a);
}

}  // namespace

Dim floor_div(const Dim& a, const Dim& b) { return divide(AtomKind::kFloorDiv, a, b); }
Dim ceil_div(const Dim& a, const Dim& b) { return divide(AtomKind::kCeilDiv, a, b); }
Dim max(const Dim& a, const Dim& b) { return extremum(AtomKind::kMax, a, b); }
Dim min(const Dim& a, const Dim& b) { return extremum(AtomKind::kMin, a, b); }

void Dim::collect_symbols(std::set<std::string>& names) const {
  for (const Term& t : terms()) {
    for (const AtomPtr& f : t.factors) {
      if (f->kind == AtomKind::kSymbol) {
        names.insert(f->name);
      } else {
        f->left.collect_symbols(names);
        f->right.collect_symbols(names);
      }
    }
  }
}

namespace {

std::string atom_text(const Dim::Atom& atom) {
  switch (atom.kind) {
    case AtomKind::kSymbol:
      return atom.name;
    case AtomKind::kFloorDiv:
      return fmt::format("floor({} / {})", atom.left.text(), atom.right.text());
    case AtomKind::kCeilDiv:
      return fmt::format("ceil({} / {})", atom.left.text(), atom.right.text());
    case AtomKind::kMax:
      return fmt::format("max({}, {})", atom.left.text(), atom.right.text());
    case AtomKind::kMin:
      return fmt::format("min({}, {})", atom.left.text(), atom.right.text());
  }
  return {};
}

}  // namespace

std::string Dim::text() const {
  if (overflowed_) return "(beyond 64 bits)";
  std::string out;
  for (const Term& t : terms()) {
    if (!out.empty() || t.coefficient < 0)
      out += t.coefficient < 0 ? (out.empty() ? "-" : " - ") : " + ";
    const uint64_t magnitude = t.coefficient < 0 ? -static_cast<uint64_t>(t.coefficient)
                                                 : static_cast<uint64_t>(t.coefficient);
    if (magnitude != 1) out += fmt::format("{}*", magnitude);
    for (size_t i = 0; i < t.factors.size(); ++i) {
      if (i > 0) out += "*";
      out += atom_text(*t.factors[i]);
    }
  }
  if (out.empty()) return fmt::format("{}", constant_);
  if (constant_ != 0) {
    const uint64_t magnitude =
        constant_ < 0 ? -static_cast<uint64_t>(constant_) : static_cast<uint64_t>(constant_);
    out += fmt::format(" {} {}", constant_ < 0 ? "-" : "+", magnitude);
  }
  return out;
}

}  // namespace plimsoll
