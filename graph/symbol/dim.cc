#include "graph/symbol/dim.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "graph/base/checked.h"

namespace plimsoll {
namespace {

using Term = Dim::Term;
using Factors = Dim::Factors;
using AtomPtr = Dim::AtomPtr;

int compare_atoms(const AtomPtr& a, const AtomPtr& b) {
  if (a == b) return 0;
  if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
  if (a->kind == AtomKind::kSymbol) return a->name.compare(b->name);
  if (const int left = compare_structure(a->left, b->left)) return left;
  return compare_structure(a->right, b->right);
}

int compare_factors(const Term& x, const Term& y) {
  if (x.shared == y.shared) return 0;
  const Factors &a = x.factors(), &b = y.factors();
  if (a.size() != b.size()) return a.size() > b.size() ? -1 : 1;  // higher degree first
  for (size_t i = 0; i < a.size(); ++i) {
    if (const int order = compare_atoms(a[i], b[i])) return order;
  }
  return 0;
}

bool before(const AtomPtr& a, const AtomPtr& b) { return compare_atoms(a, b) < 0; }

constexpr size_t kMostTerms = 4096;  // beyond it, no model we know of: treated as overflow

}  // namespace

// Builds canonical Dims. The one place that sees their inside.
struct DimBuilder {
  static Dim overflow() {
    Dim d;
    d.overflowed_ = true;
    return d;
  }

  static Dim make(int64_t constant, std::span<Term> terms) {
    if (terms.size() > kMostTerms) return overflow();
    Dim d(constant);
    if (terms.empty()) return d;
    const auto list = std::make_shared<Term[]>(terms.size());
    std::move(terms.begin(), terms.end(), list.get());
    d.count_ = static_cast<uint32_t>(terms.size());
    d.terms_ = list;
    return d;
  }

  static Dim make(int64_t constant, Term term) { return make(constant, std::span(&term, 1)); }

  // The same terms with the coefficients that `change` makes of theirs; nothing where it makes
  // none.
  template <class Change>
  static std::optional<Dim> with_coefficients(const Dim& a, int64_t constant, Change change) {
    Dim d(constant);
    if (!a.terms_) return d;
    const auto list = std::make_shared<Term[]>(a.count_);
    for (size_t i = 0; i < a.count_; ++i) {
      const std::optional<int64_t> changed = change(a.terms_[i].coefficient);
      if (!changed) return std::nullopt;
      list[i] = {*changed, a.terms_[i].shared};
    }
    d.count_ = a.count_;
    d.terms_ = list;
    return d;
  }

  static Dim atom(AtomKind kind, Dim left, Dim right) {
    if (left.overflowed_ || right.overflowed_) return overflow();
    auto a = std::make_shared<Dim::Atom>();
    a->kind = kind;
    a->left = std::move(left);
    a->right = std::move(right);
    return make(0, of_atom(std::move(a)));
  }

  static Term of_atom(AtomPtr atom) {
    return {1, std::make_shared<const Factors>(1, std::move(atom))};
  }

  // a + sign*b by merging two sorted lists.
  static Dim add(const Dim& a, const Dim& b, int64_t sign) {
    if (a.overflowed_ || b.overflowed_) return overflow();
    const auto scaled = checked_multiply(b.constant_, sign);
    const auto constant = scaled ? checked_add(a.constant_, *scaled) : std::nullopt;
    if (!constant) return overflow();
    if (!b.terms_ || (!a.terms_ && sign == 1)) {
      Dim d = b.terms_ ? b : a;
      d.constant_ = *constant;
      return d;
    }
    std::vector<Term> terms;
    const auto x = a.terms(), y = b.terms();
    terms.reserve(x.size() + y.size());
    for (size_t i = 0, j = 0; i < x.size() || j < y.size();) {
      const int order = i == x.size() ? 1 : j == y.size() ? -1 : compare_factors(x[i], y[j]);
      if (order < 0) {
        terms.push_back(x[i++]);
        continue;
      }
      const auto c = checked_multiply(y[j].coefficient, sign);
      const auto sum = !c ? c : order > 0 ? c : checked_add(x[i].coefficient, *c);
      if (!sum) return overflow();
      if (*sum != 0) terms.push_back({*sum, y[j].shared});
      if (order == 0) ++i;
      ++j;
    }
    return make(*constant, terms);
  }

  static Dim scale(const Dim& a, int64_t factor) {
    if (a.overflowed_) return overflow();
    if (factor == 1) return a;
    if (factor == 0) return {};
    const auto constant = checked_multiply(a.constant_, factor);
    if (!constant) return overflow();
    auto scaled =
        with_coefficients(a, *constant, [&](int64_t c) { return checked_multiply(c, factor); });
    return scaled ? std::move(*scaled) : overflow();
  }

  static Dim multiply_term(const Dim& a, const Term& t) {
    std::vector<Term> terms;
    terms.reserve(a.terms().size() + 1);
    const auto push = [&](int64_t coefficient, std::shared_ptr<const Factors> factors) {
      const auto c = checked_multiply(coefficient, t.coefficient);
      if (c) terms.push_back({*c, std::move(factors)});
      return c.has_value();
    };
    for (const Term& x : a.terms()) {
      Factors both(x.factors().size() + t.factors().size());
      std::merge(x.factors().begin(), x.factors().end(), t.factors().begin(), t.factors().end(),
                 both.begin(), before);
      if (!push(x.coefficient, std::make_shared<const Factors>(std::move(both)))) return overflow();
    }
    if (a.constant_ != 0 && !push(a.constant_, t.shared)) return overflow();
    std::sort(terms.begin(), terms.end(),
              [](const Term& x, const Term& y) { return compare_factors(x, y) < 0; });
    return make(0, terms);
  }
};

Dim Dim::symbol(std::string name) {
  auto a = std::make_shared<Atom>();
  a->name = std::move(name);
  return DimBuilder::make(0, DimBuilder::of_atom(std::move(a)));
}

std::optional<int64_t> Dim::constant() const {
  if (!is_constant()) return std::nullopt;
  return constant_;
}

Dim operator+(const Dim& a, const Dim& b) { return DimBuilder::add(a, b, 1); }
Dim operator-(const Dim& a, const Dim& b) { return DimBuilder::add(a, b, -1); }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.overflowed_ || b.overflowed_) return DimBuilder::overflow();
  if (b.is_constant()) return DimBuilder::scale(a, b.constant_);
  if (a.is_constant()) return DimBuilder::scale(b, a.constant_);
  Dim sum = DimBuilder::scale(a, b.constant_);
  for (const Dim::Term& t : b.terms()) sum += DimBuilder::multiply_term(a, t);
  return sum;
}

int compare_structure(const Dim& a, const Dim& b) {
  if (a.overflowed() != b.overflowed()) return a.overflowed() ? -1 : 1;
  if (a.constant_term() != b.constant_term()) {
    return a.constant_term() < b.constant_term() ? -1 : 1;
  }
  const auto x = a.terms(), y = b.terms();
  if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i].coefficient != y[i].coefficient) return x[i].coefficient < y[i].coefficient ? -1 : 1;
    if (const int order = compare_factors(x[i], y[i])) return order;
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
    return DimBuilder::with_coefficients(a, *constant,
                                         [&](int64_t c) { return checked_divide(c, d); });
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
    Factors left;
    std::set_difference(t.factors().begin(), t.factors().end(), lead.factors().begin(),
                        lead.factors().end(), std::back_inserter(left), before);
    if (left.size() + lead.factors().size() != t.factors().size()) return std::nullopt;
    const Dim part =
        left.empty() ? Dim(*coefficient)
                     : DimBuilder::make(
                           0, Term{*coefficient, std::make_shared<const Factors>(std::move(left))});
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
      whole.push_back({t.coefficient / d, t.shared});
    } else {
      rest.push_back(t);
    }
  }
  const int64_t q = floor_divide(a.constant_term(), d);
  return {DimBuilder::make(q, whole), DimBuilder::make(a.constant_term() - q * d, rest)};
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
      rest.terms().size() == 1 && t.coefficient == 1 && t.factors().size() == 1 &&
      t.factors()[0]->kind == AtomKind::kFloorDiv && t.factors()[0]->right.is_constant()) {
    const Dim& p = t.factors()[0]->right;
    const Dim inside = t.factors()[0]->left + p * rest.constant_term(), product = p * d;
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
    for (const AtomPtr& f : t.factors()) {
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
    for (size_t i = 0; i < t.factors().size(); ++i) {
      if (i > 0) out += "*";
      out += atom_text(*t.factors()[i]);
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
